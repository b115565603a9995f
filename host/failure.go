package host

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/frames"
	"github.com/kopf-wasm/kopf/host/functions"
	"github.com/kopf-wasm/kopf/host/guests"
	"github.com/kopf-wasm/kopf/host/prepare"
	"github.com/kopf-wasm/kopf/internal/legible"
)

// Fail implements guests.Call.
func (c *call) Fail(cause error) error {
	e, _ := c.failure(cause)
	var p *guests.Panic
	if errors.As(cause, &p) { // the guest continues
		e.Message, e.Stack, e.Err = legible.Clip(p.Message, maxMessage), c.in.m.shown(p.Stack), ErrTrap
		return e
	}
	return c.end(e, "")
}

// trapped ends a call with an error of the engine.
func (c *call) trapped(err error) error {
	text := err.Error()
	e, stopped := c.failure(err)
	if !stopped {
		reason, _, _ := strings.Cut(text, "\n")
		e.Err = fmt.Errorf("%w: %s", ErrTrap, strings.TrimPrefix(reason, "wasm error: "))
		e.Message = e.Err.Error()
	}
	if errors.Is(e.Err, ErrExit) || errors.Is(e.Err, ErrTrap) {
		if words := c.ownWords(); words != "" {
			e.Message = words
		}
		c.nameExhaustion(e, text)
	}
	return c.end(e, traceOf(text))
}

// failure counts a failure, and returns its error. It reports whether the host stopped the
// call.
func (c *call) failure(cause error) (e *GuestError, stopped bool) {
	c.in.m.failed.Add(1)
	var s *guests.Stopped
	if stopped = errors.As(cause, &s); stopped {
		cause = s.Err
		if !errors.Is(cause, ErrExit) {
			c.in.m.stopped.Add(1)
		}
		if errors.Is(cause, ErrCompute) {
			c.in.m.overran.Add(1)
		}
	}
	return &GuestError{Module: c.in.m.name, Export: c.export, Message: legible.Clip(cause.Error(), maxMessage), Err: cause}, stopped
}

// end marks the instance as dead.
func (c *call) end(e *GuestError, trace string) error {
	e.Stack = c.in.m.shown(joinStacks(functions.Text(c.stderr), trace))
	c.in.m.output.Quote(&e.Message, &e.Stack)
	c.in.dead = e
	if c.owner != nil {
		c.in.m.pool.blame(c.in, c.owner)
	}
	return e
}

// maxShown bounds a stack, in bytes, before its names are read and after. A name of Rust becomes up to twenty times as long.
// What reads a stack takes time and memory of the host, which no limit of the guest counts. A record of the log has less room.
const maxShown = 128 << 10

// shown is a stack as people read it: with names of the source, and without most frames of SDKs.
func (m *Module) shown(stack string) string {
	stack = legible.Clip(frames.Demangle(legible.Clip(stack, maxShown)), maxShown)
	if m.options.FullStacks {
		return stack
	}
	return frames.Fold(stack)
}

// lost is the error of a call on a dead instance.
func (in *instance) lost(export string) error {
	return &GuestError{
		Module: in.m.name, Export: export,
		Message: fmt.Sprintf("%v: %v", abi.ErrInstanceLost, in.dead),
		Err:     fmt.Errorf("%w: %w", abi.ErrInstanceLost, in.dead),
	}
}

// traceOf extracts the stack of WebAssembly functions from an error of the engine.
func traceOf(text string) string {
	_, trace, _ := strings.Cut(text, "wasm stack trace:\n")
	trace, _, _ = strings.Cut(trace, "\n\t."+prepare.Enter+"(")
	return strings.ReplaceAll(strings.TrimSpace(trace), "\n\t", "\n")
}

func joinStacks(stderr, trace string) string {
	if stderr == "" || trace == "" {
		return stderr + trace
	}
	return strings.TrimRight(stderr, "\n") + "\n\n" + trace
}

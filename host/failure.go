package host

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/prepare"
)

// fail returns the error of a failed call, and marks the instance as dead.
func (c *call) fail(err error) error {
	e := &GuestError{Module: c.in.m.name, Export: c.export}
	c.in.m.failed.Add(1)
	trace := ""
	var s *stopped
	switch text := err.Error(); {
	case errors.As(err, &s):
		e.Err, e.Message = s.err, s.err.Error()
		if !errors.Is(s.err, ErrExit) {
			c.in.m.stopped.Add(1)
		}
		trace = traceOf(text)
	case isOurs(err):
		e.Err, e.Message = err, err.Error()
	default:
		reason, _, _ := strings.Cut(text, "\n")
		reason = strings.TrimPrefix(reason, "wasm error: ")
		e.Err = fmt.Errorf("%w: %s", ErrTrap, reason)
		e.Message = e.Err.Error()
		trace = traceOf(text)
	}
	if errors.Is(e.Err, ErrExit) || errors.Is(e.Err, ErrTrap) {
		if words := c.ownWords(); words != "" {
			e.Message = words
		}
	}
	e.Stack = joinStacks(validText(string(c.stderr)), trace)
	c.in.dead = e
	c.blame()
	return e
}

// isOurs reports whether an error comes from this package, and not from the engine.
func isOurs(err error) bool {
	return errors.Is(err, ErrMessage) || errors.Is(err, ErrExport) || errors.Is(err, ErrMemory) || errors.Is(err, errPlugin) || errors.Is(err, ErrProgram)
}

// dead is the error of a call on a dead instance.
func (c *call) dead() error {
	return &GuestError{
		Module: c.in.m.name, Export: c.export,
		Message: fmt.Sprintf("%v: %v", abi.ErrInstanceLost, c.in.dead),
		Err:     fmt.Errorf("%w: %w", abi.ErrInstanceLost, c.in.dead),
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

// ownWords returns the guest's own message about its failure: the panic line on standard
// error, or else the last critical log line.
func (c *call) ownWords() string {
	lines := strings.Split(validText(string(c.stderr)), "\n")
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "panic: "), strings.HasPrefix(line, "fatal error: "): // Go
			return line
		case strings.HasPrefix(line, "thread '") && strings.Contains(line, " panicked at "): // Rust
			if i+1 < len(lines) && lines[i+1] != "" {
				return lines[i+1]
			}
			return line
		}
	}
	return c.lastWords
}

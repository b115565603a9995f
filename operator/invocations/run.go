package invocations

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/internal/durations"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/simulation"
)

// Program is a module and how it is loaded.
type Program struct {
	Source operator.Source
	Module string // a name for the Source
	Host   host.Options

	// Timeout is how much real time the call may take, without the loading of the module.
	Timeout time.Duration
}

// ErrTimeout says that a handler has not ended in time.
var ErrTimeout = errors.New("the handler does not end")

// Run loads the module and calls the handler. Time that the handler waits takes no time.
//
// Errors: those of Call, those of the module, ErrTimeout.
func (p *Program) Run(ctx context.Context, o Options) (*Result, error) {
	modules, err := operator.LoadFrom(ctx, p.Source, []string{p.Module}, p.Host)
	if err != nil {
		return nil, err
	}
	_ = modules[0].Close(ctx) // it is in the cache now, and its mistakes are known
	var result *Result
	inside := context.WithoutCancel(ctx) // no channel may be used both inside and outside of a bubble
	limited := simulation.Run(time.Now(), min(p.Timeout, durations.Century)+loading, func(t *simulation.Time) {
		result, err = p.call(inside, t, o)
	})
	switch {
	case errors.Is(limited, simulation.ErrLeft) || errors.Is(limited, simulation.ErrEnd):
		return nil, fmt.Errorf("%w: %s waits for something that never happens", ErrTimeout, o.Handler)
	case limited != nil:
		return nil, p.timeout(o.Handler)
	}
	return result, err
}

func (p *Program) timeout(handler string) error {
	return fmt.Errorf("%w: %s has not ended after %v of computing; --timeout TIME waits longer", ErrTimeout, handler, p.Timeout)
}

// loading is the time for a module that is compiled already.
const loading = time.Minute

// call calls the handler in a simulation.
func (p *Program) call(ctx context.Context, t *simulation.Time, o Options) (*Result, error) {
	options := p.Host
	options.Clock = t.Real
	options.ComputeLimit = p.Timeout
	modules, err := operator.LoadFrom(ctx, p.Source, []string{p.Module}, options)
	if err != nil {
		return nil, err
	}
	defer func() { _ = modules[0].Close(ctx) }() // the process is ending
	return Call(ctx, operator.GuestOf(modules[0]), o)
}

package operator

import (
	"context"
	"errors"

	"github.com/kopf-wasm/kopf/host"
)

// ErrProgramEnded says that the native program has ended, and the operator with it.
var ErrProgramEnded = errors.New("the program of the operator has ended")

// errOneFlavour refuses a native program in addition to modules.
var errOneFlavour = errors.New("an operator is either a native program or modules, not both")

// load loads the modules, or connects to the native program.
func (op *Operator) load(ctx context.Context) ([]loaded, error) {
	o := &op.options
	if o.Program == nil {
		return loadAll(ctx, o.source(), o.Modules, o.Host, nil)
	}
	if len(o.Modules) > 0 {
		return nil, errors.Join(errOneFlavour, o.Program.Close())
	}
	const name = "the program"
	limits := o.Host
	recordOutput(o.Log, name, &limits)
	module, err := host.Connect(ctx, name, o.Program, limits)
	if err != nil {
		return nil, err
	}
	return []loaded{{module: module}}, nil
}

// withProgram returns a context that ends with the native program, if there is one. The
// returned function replaces a nil error by ErrProgramEnded in that case.
func (op *Operator) withProgram(ctx context.Context) (context.Context, func(error) error) {
	if op.options.Program == nil {
		return ctx, func(err error) error { return err }
	}
	gone := op.Modules()[0].Gone()
	ctx, cancel := context.WithCancelCause(ctx)
	over := make(chan struct{})
	go func() { // Ends with the operator.
		select {
		case <-gone:
			cancel(ErrProgramEnded)
		case <-over:
		}
	}()
	return ctx, func(err error) error {
		close(over)
		if err == nil && errors.Is(context.Cause(ctx), ErrProgramEnded) {
			err = ErrProgramEnded
		}
		cancel(nil)
		return err
	}
}

package reactor

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrExitTimeout says that the graceful exit took too long.
//
// Kopf: settings.process.ultimate_exiting_timeout (v1.45), which kills the process.
var ErrExitTimeout = errors.New("the operator does not exit")

// unlessStuck does the work to its end; but if that takes too long after the end of
// the context, the work is left behind.
func (op *Operator) unlessStuck(ctx context.Context, work func(context.Context) error) error {
	done := make(chan error, 1)
	go func() { done <- work(ctx) }() // Waited for below, unless it is given up.
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	limit := time.Duration(op.exiting.Load())
	if limit <= 0 {
		return <-done
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return fmt.Errorf("%w: still not done after %v", ErrExitTimeout, limit)
	}
}

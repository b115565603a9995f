package reactor

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrExitTimeout means that the graceful exit took too long.
//
// Kopf: settings.process.ultimate_exiting_timeout (v1.45), which kills the process.
var ErrExitTimeout = errors.New("the operator does not exit")

// unlessStuck runs work and waits for it. If the work takes too long after the end of the
// context, unlessStuck returns and leaves it running.
func (op *Operator) unlessStuck(ctx context.Context, work func(context.Context) error) error {
	done := make(chan error, 1)
	go func() { done <- work(ctx) }() // It is waited for below, until the timeout.
	select {
	case err := <-done:
		return err
	case <-op.lost:
		return op.afterLoss(done)
	case <-ctx.Done():
	}
	var late <-chan time.Time // never, without a limit
	limit := time.Duration(op.exiting.Load())
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case err := <-done:
		return err
	case <-op.lost:
		return op.afterLoss(done)
	case <-late:
		return fmt.Errorf("%w: still not done after %v", ErrExitTimeout, limit)
	}
}

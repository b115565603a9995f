package reactor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/reactor/stoppers"
)

// ErrExitTimeout means that the graceful exit took too long.
//
// Kopf: settings.process.ultimate_exiting_timeout (v1.45), which kills the process.
var ErrExitTimeout = errors.New("the operator does not exit")

// unlessStuck starts work, and calls ended with its error. If the work takes too long after the end of
// the context, or after the exit has begun for another reason, unlessStuck calls ended before, and ends the
// work by force.
func (op *Operator) unlessStuck(ctx context.Context, work func(ctx context.Context, ended func(error)), ended func(error)) {
	ctx, force := stoppers.WithForce(ctx)
	op.exit = &exit{ended: ended, force: force, gone: make(chan struct{})}
	leave := context.AfterFunc(ctx, func() { op.limitExit(nil) })
	go work(ctx, func(err error) { // It calls ended, or is ended by force.
		leave()
		op.exit.end(err)
		close(op.exit.gone)
	})
}

// Gone returns a channel that is closed when nothing is left of an operator that has ended with ErrExitTimeout. It must not be called
// before.
func (op *Operator) Gone() <-chan struct{} { return op.exit.gone }

// limitExit limits the exit, which begins now, unless it has begun before. The reason is that of an operator that ends by itself.
func (op *Operator) limitExit(reason error) {
	limit := time.Duration(op.exiting.Load())
	if limit <= 0 {
		return
	}
	err := fmt.Errorf("%w: still not done after %v", ErrExitTimeout, limit)
	if reason != nil {
		err = fmt.Errorf("%w; it ends because of: %w", err, reason)
	}
	op.exit.within(limit, err, false)
}

// exit is the end of an operator, which comes once.
type exit struct {
	mu    sync.Mutex  // guards the fields below
	ended func(error) // nil: it has come
	late  *time.Timer // it comes at that time at the latest; nil: there is no limit yet
	final bool        // no other limit takes the place of this one

	force func()        // ends the work by force
	gone  chan struct{} // closed when nothing is left of the work
}

// end ends the operator, if it has not ended before.
func (e *exit) end(err error) {
	e.mu.Lock()
	ended := e.ended
	e.ended = nil
	if e.late != nil {
		e.late.Stop()
	}
	e.mu.Unlock()
	if ended != nil {
		ended(err)
	}
}

// within ends the operator with an error after some time, unless it has a limit. A final limit takes the place of another one.
func (e *exit) within(limit time.Duration, err error, final bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended == nil || e.final || e.late != nil && !final {
		return
	}
	if e.late != nil {
		e.late.Stop()
	}
	e.late, e.final = time.AfterFunc(limit, func() {
		e.end(err)
		e.force()
	}), final
}

// unwinding are the functions that a part of the operator calls at its end, the last one first.
type unwinding []func()

func (u *unwinding) add(f func()) { *u = append(*u, f) }

func (u *unwinding) run() {
	for _, f := range slices.Backward(*u) {
		f()
	}
}

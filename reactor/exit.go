package reactor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// ErrExitTimeout means that the graceful exit took too long.
//
// Kopf: settings.process.ultimate_exiting_timeout (v1.45), which kills the process.
var ErrExitTimeout = errors.New("the operator does not exit")

// unlessStuck starts work, and calls ended with its error. If the work takes too long after the end of
// the context, unlessStuck calls ended before, and leaves the work running.
func (op *Operator) unlessStuck(ctx context.Context, work func(ctx context.Context, ended func(error)), ended func(error)) {
	op.exit = &exit{ended: ended}
	leave := context.AfterFunc(ctx, func() {
		if limit := time.Duration(op.exiting.Load()); limit > 0 {
			op.exit.within(limit, fmt.Errorf("%w: still not done after %v", ErrExitTimeout, limit), false)
		}
	})
	go work(ctx, func(err error) { // It calls ended, or is left running.
		leave()
		op.exit.end(err)
	})
}

// exit is the end of an operator, which comes once.
type exit struct {
	mu    sync.Mutex  // guards the fields below
	ended func(error) // nil: it has come
	late  *time.Timer // it comes at that time at the latest; nil: there is no limit yet
	final bool        // no other limit takes the place of this one
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

// within ends the operator with an error after some time. A final limit takes the place of another one.
func (e *exit) within(limit time.Duration, err error, final bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended == nil || e.final {
		return
	}
	if e.late != nil {
		e.late.Stop()
	}
	e.late, e.final = time.AfterFunc(limit, func() { e.end(err) }), final
}

// unwinding are the functions that a part of the operator calls at its end, the last one first.
type unwinding []func()

func (u *unwinding) add(f func()) { *u = append(*u, f) }

func (u *unwinding) run() {
	for _, f := range slices.Backward(*u) {
		f()
	}
}

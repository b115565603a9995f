package host

import (
	"time"

	"github.com/kopf-wasm/kopf/host/guests"
)

// waiter is a call as the functions of plugins use it: plugins wait inside of a call.
type waiter struct{ *call }

// Guest implements extism.Caller.
func (w waiter) Guest() guests.Guest { return w.in.guest }

// Wait asks so often whether the wait is over: ten times a second at first, and once a second in a long wait. Thousands of plugins may wait,
// for days, and what this takes is not their computing time.
const (
	pollFirst = 100 * time.Millisecond
	pollLast  = time.Second
)

// pollAfter is how long Wait does not ask, if it has waited for a time.
func pollAfter(waited time.Duration) time.Duration {
	return min(max(waited/10, pollFirst), pollLast)
}

// Wait implements extism.Caller.
func (w waiter) Wait(d time.Duration, done func() bool) {
	defer w.newStep()
	early := false // the task was cancelled, so it waits no more
	for waited := time.Duration(0); !done() && d > 0 && !early && w.ctx.Err() == nil; {
		tick := min(d, pollAfter(waited))
		d, waited = d-tick, waited+tick
		_, early = w.pause(tick)
		w.check()
	}
}

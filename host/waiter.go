package host

import (
	"time"

	"github.com/kopf-wasm/kopf/host/guests"
)

// waiter is a call as the functions of plugins use it: plugins wait inside of a call.
type waiter struct{ *call }

// Guest implements extism.Caller.
func (w waiter) Guest() guests.Guest { return w.in.guest }

// pollEvery is how often Wait asks whether the wait is over.
const pollEvery = 100 * time.Millisecond

// Wait implements extism.Caller.
func (w waiter) Wait(d time.Duration, done func() bool) {
	defer w.newStep()
	early := false // the task was cancelled, so it waits no more
	for !done() && d > 0 && !early && w.ctx.Err() == nil {
		tick := min(d, pollEvery)
		d -= tick
		_, early = w.pause(tick)
		w.check()
	}
}

package host

import (
	"context"
	"time"

	"github.com/kopf-wasm/kopf/abi"
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
	for !done() && d > 0 && w.ctx.Err() == nil {
		tick := min(d, pollEvery)
		d -= tick
		w.pause(tick)
		w.check()
	}
}

// Request implements extism.Caller. Other guests compute meanwhile.
func (w waiter) Request(wanted *abi.Call) abi.Answer {
	var r Requester
	if w.owner != nil {
		r, _ = w.owner.functions.Env.(Requester)
	}
	if r == nil {
		return abi.Answer{Error: &abi.Error{Kind: abi.ErrorPermanent, Type: abi.CallNotReady, Message: "requests cannot be made here"}}
	}
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	var answer abi.Answer
	done := make(chan struct{})
	w.slept += w.away(func() {
		go func() { // Waited for below.
			defer close(done)
			answer = r.Call(ctx, wanted)
		}()
		select {
		case <-done:
		case <-w.woken:
			cancel()
		}
		<-done
	})
	w.in.clock.Set(time.Now())
	w.check()
	w.newStep()
	return answer
}

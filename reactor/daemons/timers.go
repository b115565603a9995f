package daemons

import (
	"context"
	"time"

	"github.com/kopf-wasm/kopf/internal/durations"
	"github.com/kopf-wasm/kopf/reactor/stoppers"
)

// timerDue calls the handler repeatedly while the object is idle. Delays of errors
// override the interval, and a permanent error ends the timer for ever. The handler never
// overlaps itself: the next call is scheduled after the last one has ended.
//
// See https://docs.kopf.dev/en/latest/timers/
func (b *life) timerDue(ctx context.Context) (*sleep, error) {
	if b.stopper.IsSet() {
		return nil, nil
	}
	if b.state.Failure {
		b.log.Debug(b.handler.Title() + " has exited on its own and will not be retried or restarted.")
		return nil, nil
	}
	if b.state.Finished() {
		b.state = newHandlerState(b.handler)
	}
	if left := b.untilIdle(); left > 0 {
		return after(left, b.timerDue), nil
	}
	return b.attempt(ctx)
}

// untilIdle returns how long the object must remain unchanged to have been idle for the
// time of the option. Each essential change restarts this time.
func (b *life) untilIdle() time.Duration {
	if b.handler.Spec.Idle == nil {
		return 0
	}
	return time.Until(b.memory.changedAt().Add(durations.Seconds(*b.handler.Spec.Idle)))
}

// timerSleep returns the sleep after a call that needs no retry; nil if no further call
// follows.
func (b *life) timerSleep() *sleep {
	spec := b.handler.Spec
	switch {
	case spec.Interval != nil && spec.Sharp:
		interval := durations.Seconds(*spec.Interval)
		return after(interval-time.Since(b.began)%max(interval, 1), b.due)
	case spec.Interval != nil:
		return after(durations.Seconds(*spec.Interval), b.due)
	case spec.Idle != nil:
		return b.untilChange()
	}
	return nil // neither interval nor idle is set: the handler is called once
}

// untilChange waits for the next essential change. Kopf checks once per idle time, which guests can choose to be nothing: tens of
// thousands of timers would take all processors of the host, without any call. Unlike in Kopf, it also ends when the operator exits.
func (b *life) untilChange() *sleep {
	if b.stopper.IsSet() || b.memory.changedAt().After(b.began) {
		return after(0, b.due)
	}
	return &sleep{reasons: stoppers.AnyReason, changes: true, then: b.due}
}

package daemons

import (
	"context"
	"time"

	"github.com/kopf-wasm/kopf/reactor/settings"
)

// timerDue calls the handler again and again, as soon as the object is idle. Errors
// override the schedule, and one that is final ends the timer for ever. The handler never
// overlaps itself: the next call is planned when one has ended.
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

// untilIdle is how long the object must not change until it is idle for the time of
// the option. Each essential change begins the time anew.
func (b *life) untilIdle() time.Duration {
	if b.handler.Spec.Idle == nil {
		return 0
	}
	return time.Until(b.memory.changedAt().Add(settings.Seconds(*b.handler.Spec.Idle)))
}

// timerSleep is the sleep after a call that needs no retry; nil if there are no calls
// any more.
func (b *life) timerSleep() *sleep {
	spec := b.handler.Spec
	switch {
	case spec.Interval != nil && spec.Sharp:
		interval := settings.Seconds(*spec.Interval)
		return after(interval-time.Since(b.began)%max(interval, 1), b.due)
	case spec.Interval != nil:
		return after(settings.Seconds(*spec.Interval), b.due)
	case spec.Idle != nil:
		return b.untilChange()
	}
	return nil // neither interval nor idle: called once
}

// untilChange waits for the next essential change. The reference looks for it
// once in the idle time, and so do we, but it forgets to end with the operator.
func (b *life) untilChange() *sleep {
	if b.stopper.IsSet() || b.memory.changedAt().After(b.began) {
		return after(0, b.due)
	}
	idle := max(settings.Seconds(*b.handler.Spec.Idle), 10*time.Millisecond)
	return after(idle, func(context.Context) (*sleep, error) { return b.untilChange(), nil })
}

package reactor

import (
	"context"
	"time"

	"github.com/kopf-wasm/kopf/reactor/settings"
)

// runTimer calls the handler again and again. Errors override the schedule. The
// handler never overlaps itself: the next call is planned when one has ended.
//
// See https://docs.kopf.dev/en/latest/timers/
func (b *background) runTimer(ctx context.Context) error {
	spec := b.handler.Spec
	state := b.newState()
	for !b.stopper.isSet() {
		if state.Done() {
			state = b.newState()
		}
		if b.waitForIdleness(); b.stopper.isSet() {
			break
		}
		started := time.Now()
		var err error
		if state, err = b.attempt(ctx, state); err != nil {
			return err
		}
		switch {
		case !state.Done():
			if delay := state.Delay(time.Now()); delay != nil {
				b.stopper.sleep(*delay)
			}
		case spec.Interval != nil && spec.Sharp:
			interval := settings.Seconds(*spec.Interval)
			b.stopper.sleep(interval - time.Since(started)%max(interval, 1))
		case spec.Interval != nil:
			b.stopper.sleep(settings.Seconds(*spec.Interval))
		case spec.Idle != nil:
			b.waitForChange(started)
		default:
			return nil // neither interval nor idle: called once
		}
	}
	return nil
}

// waitForIdleness waits until the object has not changed for the time of the
// option idle. Each essential change begins the time anew.
func (b *background) waitForIdleness() {
	if b.handler.Spec.Idle == nil {
		return
	}
	idle := settings.Seconds(*b.handler.Spec.Idle)
	for !b.stopper.isSet() {
		left := time.Until(b.memory.background.changedAt().Add(idle))
		if left <= 0 {
			return
		}
		b.stopper.sleep(left)
	}
}

// waitForChange waits for the next essential change. The reference looks for it
// once in the idle time, and so do we, but it forgets to end with the operator.
func (b *background) waitForChange(since time.Time) {
	idle := max(settings.Seconds(*b.handler.Spec.Idle), 10*time.Millisecond)
	for !b.stopper.isSet() && !b.memory.background.changedAt().After(since) {
		b.stopper.sleep(idle)
	}
}

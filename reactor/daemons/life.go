package daemons

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/stoppers"
)

// life is the life of one daemon or timer of one object.
//
// They rest most of their lives, and there may be very many of them. So those that
// rest have no goroutine, and no body of their object, which is kept once for all
// of them, as bytes. See phase.
type life struct {
	*daemon
	engine *Engine
	memory *Memory         // of the object
	nudge  func()          // ends the sleep of the worker of the object
	cause  *handling.Cause // without body and patch: each attempt has its own

	patching <-chan struct{} // closed when it may patch; nil: at once

	state     progression.HandlerState
	began     time.Time                 // of the last attempt
	remaining []patching.Transformation // that have lost against newer changes
	patched   bool                      // the last attempt has changed the object

	talk  *handling.Conversation // of the attempt that is under way; nil between attempts
	leave func()                 // what the attempt has entered
}

// phase is a part of a life: what happens between two sleeps. It returns the sleep
// after it; nil at the end of the life.
type phase func(ctx context.Context) (*sleep, error)

// sleep is the time between two phases.
type sleep struct {
	limit   *time.Duration // nil: for ever
	reasons int            // to stop, which end it
	then    phase
}

// after is a sleep of some time that ends when the daemon is stopped.
func after(delay time.Duration, then phase) *sleep {
	return &sleep{limit: &delay, reasons: stoppers.AnyReason, then: then}
}

// live goes on until the next sleep that takes time, or to the end. After a sleep,
// another goroutine goes on.
func (b *life) live(ctx context.Context, next phase) {
	for {
		r, err := next(ctx)
		if errors.Is(err, handling.ErrExiting) {
			b.stopper.Set(abi.StopOperatorExiting)
			r, err = after(0, b.due), nil
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, handling.ErrCancelled) {
			b.log.Error(fmt.Sprintf("%s has failed: %v", b.handler.Title(), err))
		}
		if r == nil || err != nil {
			b.end()
			return
		}
		then := r.then
		if b.stopper.Await(r.limit, r.reasons, func() { b.live(ctx, then) }) != nil {
			return // b belongs to whoever goes on
		}
		next = then
	}
}

// end is the end of a life.
func (b *life) end() {
	told := b.stopper.IsSet()
	// In the reference, a timer that has failed for good runs, so its object has the finalizer.
	failed := b.handler.Spec.Kind == abi.KindTimer && b.state.Failure
	b.memory.ended(b.daemon, failed)
	b.stopper.Set(abi.StopDone)
	close(b.done)
	if told && !b.patched {
		b.nudge() // whoever polls for the end
	}
	b.kill() // lets go of the context
	b.engine.Generation.Release()
	b.engine.Runnables.remove(b.daemon)
}

// begin is the first phase: the initial delay.
func (b *life) begin(ctx context.Context) (*sleep, error) {
	b.state = newHandlerState(b.handler)
	if b.stopper.IsSet() {
		return after(0, b.due), nil
	}
	delay, err := b.initialDelay(ctx)
	if err != nil {
		b.log.Error(fmt.Sprintf("%s cannot be started: %v", b.handler.Title(), err))
		return nil, nil
	}
	return after(delay, b.due), nil
}

func newHandlerState(h *registries.Handler) progression.HandlerState {
	return progression.State{}.WithHandlers([]string{h.ID}, time.Now()).Handler(h.ID)
}

// initialDelay is the option, or what the guest says; once for each object.
func (b *life) initialDelay(ctx context.Context) (time.Duration, error) {
	option := b.handler.Spec.InitialDelay
	if option.IsNull() || !b.memory.firstStart(b.handler.ID) {
		return 0, nil
	}
	if string(option) == abi.Function {
		c, err := b.awake()
		if err != nil {
			return 0, err
		}
		answer, err := c.AskOption(ctx, b.handler, "initial_delay")
		if err != nil || answer.IsNull() {
			return 0, err
		}
		option = answer
	}
	seconds, err := numberOf(option)
	return settings.Seconds(seconds), err
}

// due is the phase in which the handler is called, unless it is over.
func (b *life) due(ctx context.Context) (*sleep, error) {
	if b.handler.Spec.Kind == abi.KindTimer {
		return b.timerDue(ctx)
	}
	switch {
	case b.stopper.IsSet():
		b.log.Debug(b.handler.Title() + " has exited on request and will not be retried or restarted.")
		return nil, nil
	case b.state.Finished():
		b.log.Debug(b.handler.Title() + " has exited on its own and will not be retried or restarted.")
		return nil, nil
	}
	return b.attempt(ctx)
}

// schedule is the sleep after an attempt. Errors have their own delays.
func (b *life) schedule() *sleep {
	switch {
	case !b.state.Finished():
		return after(time.Until(b.state.Delayed), b.due)
	case b.handler.Spec.Kind == abi.KindTimer && !b.state.Failure:
		return b.timerSleep()
	}
	return after(0, b.due)
}

// numberOf is an option that is a number of seconds.
func numberOf(value abi.Raw) (float64, error) {
	var number float64
	if err := json.Unmarshal(value, &number); err != nil {
		return 0, fmt.Errorf("%s is not a number of seconds", value)
	}
	return number, nil
}

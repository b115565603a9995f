package daemons

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/durations"
	"github.com/kopf-wasm/kopf/internal/panics"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/stoppers"
)

// life is the life of one daemon or timer of one object.
//
// Most of them sleep most of the time, and there may be very many. So a sleeping one has
// no goroutine, and no body of its object: the object's memory keeps one body for all of
// them, as bytes. See phase.
type life struct {
	*daemon
	engine *Engine
	memory *Memory         // of the object
	nudge  func()          // ends the sleep of the object's worker
	cause  *handling.Cause // without body and patch, which each attempt sets

	patching <-chan struct{} // closed when patches are allowed; nil: they always are

	state     progression.HandlerState
	began     time.Time                 // when the last attempt began
	remaining []patching.Transformation // transformations that are not applied: they lost against newer changes, or the attempt failed
	patched   bool                      // whether the last attempt has changed the object

	talk  *handling.Conversation // the running attempt; nil between attempts
	leave func()                 // leaves what the attempt has entered
}

// phase is the part of a life between two sleeps. It returns the next sleep; nil at the
// end of the life.
type phase func(ctx context.Context) (*sleep, error)

// sleep is the time between two phases.
type sleep struct {
	limit   *time.Duration // nil: no limit
	reasons int            // reasons to stop that end the sleep
	changes bool           // the next essential change of the object ends it, too
	then    phase
}

// after returns a sleep for the delay, which ends early when the daemon is stopped.
func after(delay time.Duration, then phase) *sleep {
	return &sleep{limit: &delay, reasons: stoppers.AnyReason, then: then}
}

// live runs phases until the next sleep that takes time, or to the end. After the sleep,
// another goroutine continues.
func (b *life) live(ctx context.Context, next phase) {
	for {
		r, err := b.guarded(ctx, next)
		if errors.Is(err, handling.ErrExiting) {
			b.stopper.Set(abi.StopOperatorExiting)
			r, err = after(0, b.due), nil
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, handling.ErrCancelled) {
			b.log.Failure(fmt.Sprintf("%s has failed: %v", b.handler.Title(), err), panics.StackOf(err))
		}
		if r == nil || err != nil {
			patching.New(b.remaining).Drop(context.WithoutCancel(ctx)) // no attempt follows that would apply them
			b.end()
			return
		}
		then, since := r.then, b.began
		if n := b.stopper.Await(r.limit, r.reasons, func() { b.live(ctx, then) }); n != nil {
			if r.changes {
				b.memory.awaitChange(b.daemon, since, n)
			}
			return // the goroutine that continues owns b
		}
		next = then
	}
}

// guarded runs a phase. After a panic, which ends the life, nothing of a running attempt stays.
func (b *life) guarded(ctx context.Context, next phase) (r *sleep, err error) {
	defer func() {
		if panics.StackOf(err) != "" && b.talk != nil {
			b.talk.Cause = b.cause
			b.talk.Close(ctx)
			b.leave()
		}
	}()
	defer panics.Recover(&err)
	return next(ctx)
}

// patchNotice is how long the event of a daemon's last patch may take until the worker of the
// object is woken without it.
const patchNotice = time.Second

// end ends a life.
func (b *life) end() {
	asked := b.stopper.IsSet()
	// In Kopf, a timer that has failed for good keeps running, so its object keeps the
	// finalizer.
	failed := b.handler.Spec.Kind == abi.KindTimer && b.state.Failure
	if asked && !b.over && !b.engine.Generation.IsReplaced() { // by filters or a pause
		b.memory.forgetStart(b.handler.ID)
	}
	b.memory.ended(b.daemon, failed)
	close(b.done) // before the reason, which ends the wait of a worker that then asks whether the daemon has ended
	b.stopper.Set(abi.StopDone)
	deleted := b.stopper.Bits()&abi.StopResourceDeleted != 0
	switch { // the worker checks whether the daemon has ended: only the deletion of the object waits for that
	case deleted && b.patched: // the event of the patch does that, too, unless it came before the end
		time.AfterFunc(patchNotice, b.nudge)
	case deleted:
		b.nudge()
	}
	b.kill() // releases the context
	b.engine.Generation.Release()
	b.engine.Runnables.remove(b.daemon)
}

// begin is the first phase: the initial delay.
func (b *life) begin(ctx context.Context) (*sleep, error) {
	if b.stopper.IsSet() {
		return after(0, b.due), nil
	}
	delay, err := b.initialDelay(ctx)
	if err != nil {
		b.log.Error(fmt.Sprintf("%s cannot be started: %v", b.handler.Title(), err))
		return nil, nil
	}
	return after(delay, func(ctx context.Context) (*sleep, error) {
		b.state = newHandlerState(b.handler) // the delay counts neither for the timeout nor for the kwargs started and runtime
		return b.due(ctx)
	}), nil
}

// isLast reports whether no attempt follows the last one.
func (b *life) isLast() bool {
	spec := b.handler.Spec
	once := spec.Kind != abi.KindTimer || b.state.Failure || spec.Interval == nil && spec.Idle == nil
	return b.state.Finished() && once
}

func newHandlerState(h *registries.Handler) progression.HandlerState {
	return progression.State{}.WithHandlers([]string{h.ID}, time.Now()).Handler(h.ID)
}

// initialDelay returns the initial delay from the option or from the guest: before the first attempt, and
// when filters or a pause have stopped the handler. Another generation continues without it.
func (b *life) initialDelay(ctx context.Context) (time.Duration, error) {
	option := b.handler.Spec.InitialDelay
	if option.IsNull() || !b.memory.firstStart(b.handler.ID) {
		return 0, nil
	}
	if string(option) == abi.Function {
		c, err := b.awake(ctx)
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
	return durations.Seconds(seconds), err
}

// due is the phase that calls the handler, unless the handler is finished.
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

// schedule returns the sleep after an attempt. Errors have their own delays.
func (b *life) schedule() *sleep {
	switch {
	case !b.state.Finished():
		return after(time.Until(b.state.Delayed), b.due)
	case b.handler.Spec.Kind == abi.KindTimer && !b.state.Failure:
		return b.timerSleep()
	}
	return after(0, b.due)
}

// numberOf decodes an option that is a number of seconds.
func numberOf(value abi.Raw) (float64, error) {
	var number float64
	if err := json.Unmarshal(value, &number); err != nil {
		return 0, fmt.Errorf("%s is not a number of seconds", value)
	}
	return number, nil
}

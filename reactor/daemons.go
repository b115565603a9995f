package reactor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// zeroTimeCycle is what a cycle of the event loop of the reference is here.
const zeroTimeCycle = 10 * time.Millisecond

// instantExit is how long a stopped daemon gets to end before anything else is
// done about it: the well-behaved ones need no other cycle of handling.
//
// Kopf: settings.background.instant_exit_timeout, instant_exit_zero_time_cycles (v1.45).
func instantExit(b settings.Background) time.Duration {
	if b.InstantExitTimeout != nil {
		return *b.InstantExitTimeout
	}
	return time.Duration(b.InstantExitCycles) * zeroTimeCycle
}

// abandonGrace is how long an abandoned daemon may go on; then its next wait ends
// it, or its instance does.
const abandonGrace = 60 * time.Second

// daemon is a running handler beside an object: a daemon or a timer.
//
// Kopf: kopf._core.engines.daemons (v1.45).
type daemon struct {
	handler *Handler
	stopper *stopper
	done    chan struct{} // closed when it has ended
	kill    context.CancelFunc
	log     logger        // without events
	instant time.Duration // see instantExit
}

func (d *daemon) isDone() bool {
	select {
	case <-d.done:
		return true
	default:
		return false
	}
}

// waitFor waits for the end, but not longer.
func (d *daemon) waitFor(limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-d.done:
	case <-timer.C:
	}
}

// signal adds a reason to stop, and gives the daemon a moment to end, unless the
// reason was there before.
func (d *daemon) signal(reason int) {
	if d.stopper.set(reason) {
		d.waitFor(d.instant)
	}
}

// cancellation are the times of the end of a daemon; timers have none.
func (d *daemon) cancellation() (backoff, timeout *float64) {
	if d.handler.Spec.Kind == abi.KindTimer {
		return nil, nil
	}
	return d.handler.Spec.CancellationBackoff, d.handler.Spec.CancellationTimeout
}

// polling is how often an ending daemon is looked at that may take its time.
func (d *daemon) polling(s *settings.Settings) time.Duration {
	if p := d.handler.Spec.CancellationPolling; p != nil && *p > 0 {
		return settings.Seconds(*p)
	}
	return s.Background.CancellationPolling
}

// stopStep goes on with the end of a daemon, as far as its time has come: told,
// signalled, cancelled, abandoned. It returns when to come again; nil for never.
func (d *daemon) stopStep(s *settings.Settings, reason int) *time.Duration {
	age := d.stopper.age()
	d.signal(reason)
	if d.isDone() {
		return nil
	}
	backoff, timeout := d.cancellation()
	var grace time.Duration
	if backoff != nil {
		grace = settings.Seconds(*backoff)
	}
	switch {
	case backoff != nil && age < grace:
		if d.stopper.set(abi.StopDaemonSignalled) {
			d.log.debug(d.handler.Title() + " is signalled to exit gracefully.")
			d.waitFor(d.instant)
		}
		return d.unlessDone(grace - age)
	case timeout != nil && age < grace+settings.Seconds(*timeout):
		if d.stopper.set(abi.StopDaemonCancelled) {
			d.log.debug(d.handler.Title() + " is signalled to exit by force.")
			d.waitFor(d.instant)
		}
		return d.unlessDone(grace + settings.Seconds(*timeout) - age)
	case timeout != nil:
		d.abandon()
		return nil
	}
	polling := d.polling(s)
	d.log.debug(fmt.Sprintf("%s is still exiting. The next check is in %v seconds.", d.handler.Title(), polling.Seconds()))
	return &polling
}

func (d *daemon) unlessDone(delay time.Duration) *time.Duration {
	if d.isDone() {
		return nil
	}
	return &delay
}

// abandon stops waiting for the daemon. It runs on for a while, as it may be
// doing something useful; then it is ended by force.
func (d *daemon) abandon() {
	if !d.stopper.set(abi.StopDaemonAbandoned) {
		return
	}
	d.log.warn(d.handler.Title() + " did not exit in time. Leaving it orphaned.")
	time.AfterFunc(abandonGrace, d.kill)
}

// stop ends a daemon from the beginning to the end, while the caller waits: when
// the operator exits, or the object is gone.
func (d *daemon) stop(reason int) {
	d.signal(reason)
	if d.isDone() {
		d.log.debug(d.handler.Title() + " has exited gracefully.")
		return
	}
	backoff, timeout := d.cancellation()
	if backoff != nil {
		d.stopper.set(abi.StopDaemonSignalled)
		d.log.debug(d.handler.Title() + " is signalled to exit gracefully.")
		d.waitFor(settings.Seconds(*backoff))
	}
	if timeout != nil && !d.isDone() {
		d.stopper.set(abi.StopDaemonCancelled)
		d.log.debug(d.handler.Title() + " is signalled to exit by force.")
		d.waitFor(settings.Seconds(*timeout))
	}
	if !d.isDone() {
		d.abandon()
	}
}

// background runs one daemon or timer of one object.
type background struct {
	*daemon
	p      *processor
	memory *memory
	q      *queue // of the object
	cause  *cause // with the body as of the last attempt
	x      *execution

	patched bool // the last attempt has changed the object
}

// run is the life of a daemon or a timer, on a goroutine of its own.
func (b *background) run(ctx context.Context) {
	delay, err := b.initialDelay(ctx)
	if err != nil {
		b.cause.log.error(fmt.Sprintf("%s cannot be started: %v", b.handler.Title(), err))
	} else {
		b.cause.doze()
		b.stopper.sleep(delay)
		if b.handler.Spec.Kind == abi.KindTimer {
			err = b.runTimer(ctx)
		} else {
			err = b.runDaemon(ctx)
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, errCancelled) {
			b.cause.log.error(fmt.Sprintf("%s has failed: %v", b.handler.Title(), err))
		}
	}
	told := b.stopper.isSet()
	b.memory.background.ended(b.daemon)
	b.stopper.set(abi.StopDone)
	close(b.done)
	if told && !b.patched {
		b.q.owner.nudge(b.q.key) // whoever polls for the end
	}
}

// initialDelay is the option, or what the guest says; once for each object.
func (b *background) initialDelay(ctx context.Context) (time.Duration, error) {
	option := b.handler.Spec.InitialDelay
	if option.IsNull() || !b.memory.background.firstStart(b.handler.ID) {
		return 0, nil
	}
	if string(option) == abi.Function {
		answer, err := b.cause.askOption(ctx, b.handler, "initial_delay")
		if err != nil || answer.IsNull() {
			return 0, err
		}
		option = answer
	}
	seconds, err := numberOf(option)
	return settings.Seconds(seconds), err
}

// runDaemon calls the handler until it ends by itself, or is told to.
func (b *background) runDaemon(ctx context.Context) error {
	state := b.newState()
	for !b.stopper.isSet() && !state.Done() {
		var err error
		if state, err = b.attempt(ctx, state); err != nil {
			return err
		}
		if delay := state.Delay(time.Now()); delay != nil {
			b.stopper.sleep(*delay)
		}
	}
	if b.stopper.isSet() {
		b.cause.log.debug(b.handler.Title() + " has exited on request and will not be retried or restarted.")
	} else {
		b.cause.log.debug(b.handler.Title() + " has exited on its own and will not be retried or restarted.")
	}
	return nil
}

func (b *background) newState() progression.State {
	return progression.State{}.WithHandlers([]string{b.handler.ID}, time.Now())
}

// attempt calls the handler once, with the newest body, and applies what it left.
// A failure of its instance that was another task's fault is not charged to it.
func (b *background) attempt(ctx context.Context, state progression.State) (progression.State, error) {
	if err := aside(b.cause.wake); err != nil {
		return state, err
	}
	defer b.cause.doze()
	outcomes, err := b.x.run(ctx, []*Handler{b.handler}, b.cause, state)
	if errors.Is(err, ErrInstanceLost) {
		b.cause.log.debug(b.handler.Title() + " has lost its instance, and is started again.")
		return state, nil
	}
	if err != nil {
		return state, err
	}
	merged := forState(outcomes)
	if state, err = state.WithOutcomes(merged, time.Now()); err != nil {
		return state, err
	}
	if err := progression.DeliverResults(merged, &b.cause.patch.merge); err != nil {
		return state, err
	}
	return state, aside(func() error { return b.apply(ctx) })
}

// apply writes the patch of an attempt. What lost against newer changes is kept
// for the next one; requests that fail are logged, and do not end the daemon.
func (b *background) apply(ctx context.Context) error {
	done, err := b.p.applier.patch(ctx, b.cause, b.cause.patch)
	b.patched = done.version != ""
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		b.cause.log.error(fmt.Sprintf("The patch of %s could not be applied: %v", b.handler.Title(), err))
	}
	if len(done.remaining) == 0 {
		b.cause.patch.release(context.WithoutCancel(ctx), 0)
	}
	b.cause.patch = newPatch(done.remaining)
	return nil
}

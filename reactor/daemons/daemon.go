package daemons

import (
	"context"
	"fmt"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/stoppers"
)

// zeroTimeCycle is how long a cycle of the event loop of the reference may take here:
// others compute in the meantime.
const zeroTimeCycle = 100 * time.Millisecond

// instantExit is how long a stopped daemon gets to end before anything else is done
// about it: the well-behaved ones need no other cycle of handling. Without a timeout,
// it is over as soon as the daemon waits for something else: it would not have ended
// in the zero-time cycles of the reference either.
//
// Kopf: settings.background.instant_exit_timeout, instant_exit_zero_time_cycles (v1.45).
func instantExit(b settings.Background) exitGrace {
	if b.InstantExitTimeout != nil {
		return exitGrace{*b.InstantExitTimeout, false}
	}
	return exitGrace{time.Duration(b.InstantExitCycles) * zeroTimeCycle, true}
}

// exitGrace is the time that a stopped daemon gets.
type exitGrace struct {
	limit time.Duration
	rest  bool // it is over when the daemon waits for something
}

// abandonGrace is how long an abandoned daemon may go on; then its next wait ends
// it, or its instance does.
const abandonGrace = 60 * time.Second

// Daemon is a running handler beside an object: a daemon or a timer.
//
// Kopf: kopf._core.engines.daemons (v1.45).
type daemon struct {
	handler    *registries.Handler
	stopper    *stoppers.Stopper
	done       chan struct{}      // closed when it has ended
	kill       context.CancelFunc // ends it by force
	log        *loggers.Logger    // of the object
	instant    exitGrace          // see instantExit
	generation uint32             // that the handler is of
}

// debug logs about its end, which is not for the object.
func (d *daemon) debug(message string) { d.log.Local().Debug(d.handler.Title() + message) }

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

// settle gives the daemon a moment to end.
func (d *daemon) settle() {
	if !d.instant.rest {
		d.waitFor(d.instant.limit)
		return
	}
	patience := time.NewTimer(d.instant.limit)
	defer patience.Stop()
	select {
	case <-d.stopper.Resting():
	case <-d.done:
	case <-patience.C:
	}
}

// signal adds a reason to stop, and gives the daemon a moment to end, unless the
// reason was there before.
func (d *daemon) signal(reason int) {
	if d.stopper.Set(reason) {
		d.settle()
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
	age := d.stopper.Age()
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
		if d.stopper.Set(abi.StopDaemonSignalled) {
			d.debug(" is signalled to exit gracefully.")
			d.settle()
		}
		return d.unlessDone(grace - age)
	case timeout != nil && age < grace+settings.Seconds(*timeout):
		if d.stopper.Set(abi.StopDaemonCancelled) {
			d.debug(" is signalled to exit by force.")
			d.settle()
		}
		return d.unlessDone(grace + settings.Seconds(*timeout) - age)
	case timeout != nil:
		d.abandon()
		return nil
	}
	polling := d.polling(s)
	d.debug(fmt.Sprintf(" is still exiting. The next check is in %v seconds.", polling.Seconds()))
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
	if !d.stopper.Set(abi.StopDaemonAbandoned) {
		return
	}
	d.log.Local().Warn(d.handler.Title() + " did not exit in time. Leaving it orphaned.")
	time.AfterFunc(abandonGrace, d.kill)
}

// Stop ends a daemon from the beginning to the end, while the caller waits: when
// the operator exits, or the object is gone. Abandoned ones are left alone.
func (d *daemon) stop(reason int) {
	abandoned := d.stopper.Bits()&abi.StopDaemonAbandoned != 0
	d.signal(reason)
	if abandoned {
		return
	}
	if d.isDone() {
		d.debug(" has exited gracefully.")
		return
	}
	backoff, timeout := d.cancellation()
	if backoff != nil {
		d.stopper.Set(abi.StopDaemonSignalled)
		d.debug(" is signalled to exit gracefully.")
		d.waitFor(settings.Seconds(*backoff))
	}
	if timeout != nil && !d.isDone() {
		d.stopper.Set(abi.StopDaemonCancelled)
		d.debug(" is signalled to exit by force.")
		d.waitFor(settings.Seconds(*timeout))
	}
	if !d.isDone() {
		d.abandon()
	}
}

package daemons

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/durations"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/stoppers"
)

// zeroTimeCycle is how long one cycle of Kopf's event loop may take here: other goroutines
// compute in the meantime.
const zeroTimeCycle = 100 * time.Millisecond

// instantExit returns how long the worker of the object waits for a stopped daemon before
// anything else: a well-behaved daemon ends at once, and the object needs no further
// cycle. Without a configured timeout, the wait also ends when the daemon waits for
// something else, because it would not have ended in Kopf's zero-time cycles either.
//
// Kopf: settings.background.instant_exit_timeout, instant_exit_zero_time_cycles (v1.45).
func instantExit(b settings.Background) exitGrace {
	if b.InstantExitTimeout != nil {
		return exitGrace{*b.InstantExitTimeout, false}
	}
	return exitGrace{time.Duration(b.InstantExitCycles) * zeroTimeCycle, true}
}

// exitGrace is how long the worker waits for a stopped daemon.
type exitGrace struct {
	limit time.Duration
	rest  bool // the wait also ends when the daemon waits for something
}

// abandonGrace is how long an abandoned daemon may run on. Then its next wait ends it, or
// the host ends its instance.
const abandonGrace = 60 * time.Second

// writingGrace is how long the exit of the operator waits for the patch of a daemon that has returned.
const writingGrace = 5 * time.Second

// daemon is a running handler of an object: a daemon or a timer.
//
// Kopf: kopf._core.engines.daemons (v1.45).
type daemon struct {
	handler    *registries.Handler
	stopper    *stoppers.Stopper
	done       chan struct{}      // closed when the daemon has ended
	kill       context.CancelFunc // ends the daemon by force
	log        *loggers.Logger    // logs about the object
	instant    exitGrace          // see instantExit
	generation uint32             // the generation of the handler
	returned   atomic.Bool        // the handler has returned, so the daemon ends as soon as its patch is written
	over       bool               // it was over before it was asked to stop; set before its end
}

// debug logs a message about the end of the daemon, which is not posted as an event of the
// object.
func (d *daemon) debug(message string) { d.log.Local().Debug(d.handler.Title() + message) }

// living counts the daemon as one that lives; -1 ends that.
func (d *daemon) living(n int64) {
	d.handler.Meter.For(string(d.handler.Spec.Kind)).Live(n)
}

func (d *daemon) isDone() bool {
	select {
	case <-d.done:
		return true
	default:
		return false
	}
}

// waitFor waits until the daemon ends, at most for the limit.
func (d *daemon) waitFor(limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-d.done:
	case <-timer.C:
	}
}

// waitGrace waits for the exit grace.
func (d *daemon) waitGrace() {
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

// signal adds a reason to stop. If the reason is new, it waits for the exit grace.
func (d *daemon) signal(reason int) {
	if d.stopper.Set(reason) {
		d.waitGrace()
	}
}

// cancellation returns the options for cancelling a daemon, in seconds; nil for timers.
func (d *daemon) cancellation() (backoff, timeout *float64) {
	if d.handler.Spec.Kind == abi.KindTimer {
		return nil, nil
	}
	return d.handler.Spec.CancellationBackoff, d.handler.Spec.CancellationTimeout
}

// polling returns the interval in which an ending daemon is checked.
func (d *daemon) polling(s *settings.Settings) time.Duration {
	if p := d.handler.Spec.CancellationPolling; p != nil && *p > 0 {
		return durations.Seconds(*p)
	}
	return s.Background.CancellationPolling
}

// stopStep takes the next due step to stop a daemon: request, signal, cancel, abandon. It
// returns the time until the next step; nil if no step follows.
func (d *daemon) stopStep(s *settings.Settings, reason int) *time.Duration {
	age := d.stopper.Age()
	d.signal(reason)
	if d.isDone() {
		return nil
	}
	backoff, timeout := d.cancellation()
	var grace time.Duration
	if backoff != nil {
		grace = durations.Seconds(*backoff)
	}
	switch {
	case backoff != nil && age < grace:
		if d.stopper.Set(abi.StopDaemonSignalled) {
			d.debug(" is signalled to exit gracefully.")
			d.waitGrace()
		}
		return d.unlessDone(grace - age)
	case timeout != nil && age < grace+durations.Seconds(*timeout):
		if d.stopper.Set(abi.StopDaemonCancelled) {
			d.debug(" is signalled to exit by force.")
			d.waitGrace()
		}
		return d.unlessDone(grace + durations.Seconds(*timeout) - age)
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

// abandon stops waiting for the daemon. The daemon may still finish its work; after
// abandonGrace it is ended by force.
func (d *daemon) abandon() {
	if !d.stopper.Set(abi.StopDaemonAbandoned) {
		return
	}
	d.log.Local().Warn(d.handler.Title() + " did not exit in time. Leaving it orphaned.")
	time.AfterFunc(abandonGrace, d.kill)
}

// stop runs all steps to stop a daemon and waits for its end: when the operator exits, or
// the object is gone. It does nothing for abandoned daemons.
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
		d.waitFor(durations.Seconds(*backoff))
	}
	if timeout != nil && !d.isDone() {
		d.stopper.Set(abi.StopDaemonCancelled)
		d.debug(" is signalled to exit by force.")
		d.waitFor(durations.Seconds(*timeout))
	}
	if d.returned.Load() {
		d.waitFor(writingGrace)
	}
	if !d.isDone() {
		d.abandon()
	}
}

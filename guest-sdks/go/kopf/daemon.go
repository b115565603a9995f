package kopf

import (
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
)

// Timer is the argument of a timer, see OnTimer.
type Timer struct {
	Object
	Patch  *Patch
	Events Events
}

// TimerFunc is a timer. Its result is stored as that of a ChangeFunc. A temporary
// error takes the place of the interval.
type TimerFunc = func(t *Timer) (any, error)

// newTimer makes the argument of a handler of a task.
func newTimer(t *guest.Task) *Timer {
	timer := &Timer{Events: Events{task: t}}
	timer.Patch = timer.patch.begin()
	timer.init(t)
	return timer
}

func runTimer(fn TimerFunc) func(*guest.Task) guest.Done {
	return run(newTimer, func(t *Timer) *Patch { return t.Patch }, fn)
}

// Daemon is the argument of a daemon, see OnDaemon. After each wait, its fields show the
// newest object: Spec and the other views. A view that was read before the wait, such as the
// result of Spec.Get, keeps showing the older object.
type Daemon struct {
	Object
	Patch  *Patch
	Events Events
}

// DaemonFunc is a daemon. It should end soon after the host asks it to stop:
//
//	for !d.Stopped() {
//		poll(d.Spec)
//		d.Wait(10 * time.Second)
//	}
type DaemonFunc = func(d *Daemon) (any, error)

// newDaemon makes the argument of a handler of a task.
func newDaemon(t *guest.Task) *Daemon {
	d := &Daemon{Events: Events{task: t}}
	d.Patch = d.patch.begin()
	d.init(t)
	return d
}

func runDaemon(fn DaemonFunc) func(*guest.Task) guest.Done {
	return run(newDaemon, func(d *Daemon) *Patch { return d.Patch }, fn)
}

// Wait waits until the time is over, or the host asks the daemon to stop. It returns
// true if it is to stop.
func (d *Daemon) Wait(t time.Duration) (stopped bool) {
	d.refresh() // the daemon does not read the object meanwhile: so it is not kept
	return wait(&d.Call, t)
}

// Sleep waits also after the host has asked the daemon to stop. The error is that of the
// context if the daemon is cancelled.
func (d *Daemon) Sleep(t time.Duration) error {
	d.refresh()
	return d.Call.Sleep(t)
}

// Stopped tells whether the daemon is to end.
func (d *Daemon) Stopped() bool { return stopped(&d.Call) }

// StopReasons are the reasons to end; none while it is not to.
//
// See SPEC.md of the ABI, "Stop reasons".
func (d *Daemon) StopReasons() []string { return stopReasons(&d.Call) }

// Background is the argument of work that belongs to no object, see OnBackground.
type Background struct{ Call }

// BackgroundFunc is work that belongs to no object. It ends as a daemon does.
type BackgroundFunc = func(b *Background) (any, error)

func runBackground(fn BackgroundFunc) func(*guest.Task) guest.Done {
	return run(func(t *guest.Task) *Background { return &Background{newCall(t)} },
		func(*Background) *Patch { return nil }, fn)
}

// Wait waits until the time is over, or the host asks the work to stop. It returns true
// if it is to stop.
func (b *Background) Wait(t time.Duration) (stopped bool) { return wait(&b.Call, t) }

// Stopped tells whether the work is to end.
func (b *Background) Stopped() bool { return stopped(&b.Call) }

// StopReasons are the reasons to end; none while it is not to.
func (b *Background) StopReasons() []string { return stopReasons(&b.Call) }

func wait(c *Call, t time.Duration) bool {
	answer := waitFor(c.task, t, true)
	return len(answer.Stopped) > 0 || answer.Cancelled || stopped(c)
}

func stopped(c *Call) bool { return c.task.Cancelled || c.task.Host.Stopped(c.task.ID) != 0 }

func stopReasons(c *Call) []string { return abi.StopNames(c.task.Host.Stopped(c.task.ID)) }

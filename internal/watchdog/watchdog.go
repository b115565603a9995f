// Package watchdog ends the process, with the stacks of all goroutines, when Go's
// scheduler does not get its turn any more: code that never comes back to Go would
// stop everything at the next garbage collection, for ever and without a word.
// Nothing should be able to do that; this is for what nobody thought of.
//
// # How
//
// A goroutine winds up a timer of the system once a second. If it cannot, the timer
// expires and the system sends SIGABRT, on which the Go runtime prints all stacks and
// exits with code 2. The timer counts computing time of the process, so one that was
// paused or is starved by others is not taken for one that is stuck.
package watchdog

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// Limit is the computing time for each processor after which a process that does not
// get its turn is ended. One thread alone takes so much longer as there are processors.
const Limit = 10 * time.Second

// beat is how often the timer is wound up.
const beat = time.Second

// Run watches until the context ends. It returns nil at once where the system has no
// such timer: then nobody watches.
//
// Errors: those of the system, which can be ignored.
func Run(ctx context.Context) error { return run(ctx, Limit*time.Duration(runtime.GOMAXPROCS(0))) }

func run(ctx context.Context, limit time.Duration) error {
	if !supported {
		return nil
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	t, err := newTimer()
	if err != nil {
		return fmt.Errorf("watchdog: %w", err)
	}
	defer t.stop()
	ticks := time.NewTicker(beat)
	defer ticks.Stop()
	for {
		if err := t.wind(limit); err != nil {
			return fmt.Errorf("watchdog: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
	}
}

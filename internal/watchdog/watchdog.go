// Package watchdog ends the process, with the stacks of all goroutines, when Go's scheduler
// no longer runs. Code that never returns to Go would silently block everything at the next
// garbage collection. Other measures prevent such code; the watchdog covers unknown cases.
//
// # How
//
// A goroutine arms a timer of the system once per second. If the goroutine does not run, the
// timer expires, and the system sends SIGABRT. The Go runtime then prints all stacks, and
// aborts: for a shell, the exit code is 134. The timer counts computing time of the process, so it does not expire
// in a process that is paused or starved.
package watchdog

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/kopf-wasm/kopf/internal/processors"
)

// Limit is the computing time per processor after which a stuck process is ended. If only
// one thread computes, that takes as many times longer as there are processors.
const Limit = 10 * time.Second

// beat is the interval at which the timer is armed.
const beat = time.Second

// Run watches the process until the context ends. On systems without such a timer, it
// returns nil at once, and does not watch.
//
// Errors: those of the system, which the caller can ignore.
func Run(ctx context.Context) error { return run(ctx, Limit*time.Duration(processors.Number())) }

func run(ctx context.Context, limit time.Duration) error {
	if !supported {
		return nil
	}
	noCore()
	debug.SetTraceback("crash") // abort in place of the exit code 2, which is that of wrong command lines
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

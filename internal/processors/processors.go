// Package processors lets the program use one processor while that is enough, and all of them otherwise.
//
// The work of an operator is many short steps with pauses. With several processors, Go's scheduler wakes a thread for many of
// these steps, which then looks for work and sleeps again. With one, it wakes none.
//
// See RATIONALE.md, "Why does the program use one processor while that is enough?"
package processors

import (
	"context"
	"os"
	"runtime"
	"runtime/metrics"
	"time"
)

// number is the number of processors of the program before it is adapted.
var number = runtime.GOMAXPROCS(0)

// Number returns the number of processors that the program may use. It is not the number that Adapt has found to be enough for now,
// as runtime.GOMAXPROCS is.
func Number() int { return number }

// These say when one processor is enough.
const (
	look     = 10 * time.Millisecond  // between two looks at the scheduler
	restLook = 200 * time.Millisecond // while nothing is computed

	// The program gets all processors when goroutines have waited for one at so many looks more than they have not.
	crowdedLooks = 10

	// It gets one again when it has computed for less than half of one in so long a time.
	calmPeriod = 200 * time.Millisecond
)

// Adapt adapts the number of processors to the work until the context ends. The program has all of them then. It does nothing if
// there is one processor, if the variable GOMAXPROCS of the environment is set, or where the system does not tell how long a process
// has computed.
func Adapt(ctx context.Context) {
	if _, ok := computed(); !ok || number == 1 || os.Getenv("GOMAXPROCS") != "" {
		return
	}
	runnable := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}}
	a := adapter{
		waiting: func() bool {
			metrics.Read(runnable)
			return runnable[0].Value.Kind() == metrics.KindUint64 && runnable[0].Value.Uint64() > 0
		},
		computed: func() time.Duration { d, _ := computed(); return d },
		one:      func() { runtime.GOMAXPROCS(1) },
		all:      runtime.SetDefaultGOMAXPROCS, // follows limits of the container that change
	}
	a.run(ctx)
}

// adapter is what Adapt does, without the runtime.
type adapter struct {
	waiting  func() bool          // do goroutines wait for a processor?
	computed func() time.Duration // by the process so far
	one, all func()               // set the number of processors

	busy    bool // it has all of them
	crowded int  // looks at which goroutines have waited, less the others
}

func (a *adapter) run(ctx context.Context) {
	a.one()
	defer a.all()
	timer := time.NewTimer(look)
	defer timer.Stop()
	before := a.computed()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		now := a.computed()
		timer.Reset(a.adapt(now - before))
		before = now
	}
}

// adapt looks at the scheduler once, and returns when to look again. It gets the computing time since the last look.
func (a *adapter) adapt(used time.Duration) (next time.Duration) {
	switch {
	case a.busy && used >= calmPeriod/2:
		return calmPeriod
	case a.busy:
		a.busy = false
		a.one()
	case a.waiting():
		if a.crowded++; a.crowded == crowdedLooks {
			a.busy, a.crowded = true, 0
			a.all()
			return calmPeriod
		}
	case used < look/100:
		a.crowded = 0
		return restLook
	default:
		a.crowded = max(0, a.crowded-1)
	}
	return look
}

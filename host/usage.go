package host

import (
	"sync/atomic"
	"time"

	"github.com/kopf-wasm/kopf/host/prepare"
)

// Spent is what guests have cost.
type Spent struct {
	// Calls are the calls of exports: two or more for each step.
	Calls int64

	// Computing is the time in which guests had a core, with what the host did for
	// them meanwhile. Sleeping and waiting for a core do not count.
	Computing time.Duration

	// Fuel is what the guests' code cost, in units of about a nanosecond, counted in
	// whole slices of prepare.Budget. Unlike Computing it is always the same for the same work.
	Fuel int64
}

// Usage is what a module has used since it was loaded, and what it holds now.
type Usage struct {
	Spent

	Stopped int64 // calls that were ended by a limit of computing, or by their context
	Failed  int64 // calls that failed in any way, stopped ones included: each cost an instance

	Dropped int64 // lines of output that were dropped, see Options.LogLimit and OutputBucket

	Made    int64 // instances that were made
	Living  int   // instances that there are
	Idle    int   // those of them that wait for work
	Working int   // those that work for handlers, timers, filters and activities
	Daemons int   // those that daemons live on
	Reviews int   // those that answer the API server
}

// Usage tells what the module has used, and what it holds. It can be called at any time.
func (m *Module) Usage() Usage {
	u := Usage{Spent: m.meter.spent(), Stopped: m.stopped.Load(), Failed: m.failed.Load(), Dropped: m.output.dropped.Load()}
	u.Working, u.Daemons, u.Reviews = len(m.pool.permits), len(m.pool.daemons), len(m.pool.reviews)
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	u.Made, u.Living, u.Idle = m.pool.made, len(m.pool.living), len(m.pool.idle)
	return u
}

// Spent tells what the task has cost so far. It can be called at any time, also after its release.
func (t *Task) Spent() Spent { return t.meter.spent() }

// meter counts what is spent.
type meter struct {
	calls, computing, fuel atomic.Int64
}

func (m *meter) spent() Spent {
	return Spent{Calls: m.calls.Load(), Computing: time.Duration(m.computing.Load()), Fuel: m.fuel.Load()}
}

func (m *meter) add(computing time.Duration, yields int) {
	m.calls.Add(1)
	m.computing.Add(int64(computing))
	m.fuel.Add(int64(yields) * prepare.Budget)
}

// settle counts what the call spent since it was counted last.
func (c *call) settle() {
	now := time.Now()
	computing := max(0, now.Sub(c.settled)-(c.slept-c.settledSleep))
	c.in.m.meter.add(computing, c.yields)
	if c.owner != nil {
		c.owner.meter.add(computing, c.yields)
	}
	c.settled, c.settledSleep, c.yields = now, c.slept, 0
}

package host

import (
	"sync/atomic"
	"time"

	"github.com/kopf-wasm/kopf/host/prepare"
)

// Spent is the cost of guests.
type Spent struct {
	// Calls counts the calls of exports: two or more for each step.
	Calls int64

	// Computing is the time in which guests had a core, including host functions. It
	// excludes sleeps and waits for a core.
	Computing time.Duration

	// Fuel is the cost of the guests' code, in units of about a nanosecond, counted in whole
	// slices of prepare.Budget. Unlike Computing, it is reproducible.
	Fuel int64
}

// Usage is what a module has used since it was loaded, and what it uses now.
type Usage struct {
	Spent

	Stopped int64 // calls that a limit of computing or their context ended
	Overran int64 // of these, those that a limit of computing ended
	Failed  int64 // calls that failed for any reason, including stopped ones: each cost an instance

	Dropped int64 // dropped lines of output, see Options.LogLimit and OutputBucket

	// Memory is the size of the memories of all instances, in bytes. Pages that instances
	// share with the image that they were made of count for each of them.
	Memory int64

	Made    int64 // instances that were created
	Living  int   // instances that exist
	Idle    int   // instances without a task
	Working int   // instances of handlers, timers, filters and activities
	Daemons int   // instances of daemons
	Reviews int   // instances that answer the API server
}

// Usage returns what the module has used and uses now. It can be called at any time.
func (m *Module) Usage() Usage {
	u := Usage{Spent: m.meter.spent(), Stopped: m.stopped.Load(), Overran: m.overran.Load(), Failed: m.failed.Load(), Dropped: m.output.Dropped(), Memory: m.memory.Load()}
	u.Working, u.Daemons, u.Reviews = len(m.pool.permits), len(m.pool.daemons), len(m.pool.reviews)
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	u.Made, u.Living, u.Idle = m.pool.made, len(m.pool.living), len(m.pool.idle)
	return u
}

// counts are the cost and the failures of a module.
type counts struct {
	meter                    meter
	stopped, overran, failed atomic.Int64 // see Usage
	memory                   atomic.Int64 // see Usage.Memory
}

// meter accumulates the cost.
type meter struct {
	calls, computing, fuel atomic.Int64
}

func (m *meter) spent() Spent {
	return Spent{Calls: m.calls.Load(), Computing: time.Duration(m.computing.Load()), Fuel: m.fuel.Load()}
}

// add adds the cost of a call, or of its part since the last time.
func (m *meter) add(computing time.Duration, yields int) {
	m.computing.Add(int64(computing))
	m.fuel.Add(int64(yields) * prepare.Budget)
}

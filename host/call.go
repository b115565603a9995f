package host

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/kopf-wasm/kopf/host/prepare"
)

// call is one running call of an export.
type call struct {
	in     *instance
	owner  *Task // nil: initialisation and registration
	export string
	ctx    context.Context // of the caller: its end ends the call
	woken  <-chan struct{} // closed when the task is cancelled: ends sleeps

	registering bool // initialisation and registration see no secrets

	began   time.Time     // the call, or the step of a plugin
	shared  time.Time     // when other calls last had a chance to get the core
	now     time.Time     // the guest's clock
	slept   time.Duration // not counted as computing
	rested  time.Duration // the value of slept when began was set
	stopAt  time.Time     // end of the grace, once the context is done
	entered int           // number of host functions that were called
	yields  int           // slices that were used up and are not counted yet

	settled      time.Time     // the time up to which usage is counted
	settledSleep time.Duration // the value of slept at settled

	stderr    []byte // the beginning of what went to standard error
	lastWords string // the last critical log line
}

// callKey finds the call in the context of a host function.
type callKey struct{}

func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

func (c *call) memory() guestMemory { return guestMemory{c.in.mod.Memory()} }

func (c *call) options() *Options { return &c.in.m.options }

// task returns a task of the instance by its id, or nil.
func (c *call) task(id uint32) *Task { return c.in.tasks[id] }

// checkEvery is the number of host functions between two checks. The guest's budget does not
// count the cost of host functions.
const checkEvery = 32

// enter starts a host function.
func (c *call) enter() {
	if c.entered++; c.entered%checkEvery == 0 {
		c.check()
	}
}

// yield is called by the guest's code when its budget is used up. It returns the next
// budget, or ends the call.
func (c *call) yield() int64 {
	c.yields++
	if now := c.check(); now.Sub(c.shared) > sliceOfCore {
		c.slept += withoutCore(runtime.Gosched)
		c.shared = time.Now()
	}
	return prepare.Budget
}

// sliceOfCore is how long a call keeps its core while other calls wait for one.
const sliceOfCore = time.Millisecond

// check ends the call if it exceeds a limit, or if its context ended longer ago than the
// grace. It returns the current time.
func (c *call) check() time.Time {
	now := time.Now()
	if limit := c.options().ComputeLimit; now.Sub(c.began)-(c.slept-c.rested) > limit {
		c.stop(fmt.Errorf("%w: more than %v without giving back control", ErrCompute, limit))
	}
	err := c.ctx.Err()
	switch {
	case err == nil:
	case c.stopAt.IsZero():
		c.stopAt = now.Add(c.options().StopGrace)
	case now.After(c.stopAt):
		c.stop(context.Cause(c.ctx))
	}
	return now
}

// newStep restarts the count of a plugin's computing time after a wait or a request. Other
// guests start a new step instead.
// as others do by a step.
func (c *call) newStep() { c.began, c.rested = time.Now(), c.slept }

// stopped is the panic value that ends a call.
type stopped struct{ err error }

func (s *stopped) Error() string { return s.err.Error() }
func (s *stopped) Unwrap() error { return s.err }

// exitError is the cause of a call that ended with proc_exit.
func exitError(code uint32) error {
	return fmt.Errorf("%w with code %d", ErrExit, code)
}

// stop ends the call from inside a host function. It panics, because that is how the engine
// unwinds machine code. The engine recovers the panic and returns it as an error, so the
// panic never leaves this package.
func (c *call) stop(err error) { panic(&stopped{err}) }

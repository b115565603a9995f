package host

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/files"
	"github.com/kopf-wasm/kopf/host/functions"
	"github.com/kopf-wasm/kopf/host/guests"
	"github.com/kopf-wasm/kopf/host/prepare"
)

// call is one running call of an export. Its exported methods are guests.Call. The types
// process and waiter add what host functions need.
type call struct {
	budget
	words

	in         *instance
	inner      context.Context // of host functions; nil before the first of them can run
	owner      *Task           // nil: initialisation and registration
	export     string
	woken      <-chan struct{} // closed when the task is cancelled: ends sleeps
	overBudget bool            // the code has used up a budget
	around     Surroundings    // nil: the real ones
}

// callKey finds the call in the context of a host function.
type callKey struct{}

func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// newCall creates a call of an export. The task may be nil.
func (in *instance) newCall(ctx context.Context, export string, t *Task) *call {
	now := time.Now()
	c := &call{in: in, export: export, budget: newBudget(ctx, &in.m.options, now), around: in.m.surroundings(ctx)}
	in.clock.Set(c.guestTime(now))
	c.queued = &in.queued
	if t != nil {
		c.owner, c.woken = t, t.cancelled
	}
	return c
}

// exchange passes a message to the guest, and returns its answer. The answer is valid until
// the next call.
func (c *call) exchange(m guests.Message) ([]byte, error) {
	if err := c.ready(); err != nil {
		return nil, err
	}
	return c.in.guest.Exchange(c, m)
}

// tell calls an export for a task, without an answer.
func (c *call) tell(task uint32) error {
	if err := c.ready(); err != nil {
		return err
	}
	return c.in.guest.Tell(c, task)
}

// ready returns the error of a call that must not begin. Each call asks once, whatever the
// kind of its guest: a context that ends later ends the call by its budget.
func (c *call) ready() error {
	if c.in.dead != nil {
		return c.in.lost(c.export)
	}
	if c.ctx.Err() != nil && !c.registering {
		return fmt.Errorf("%s: %s is not called: %w", c.in.m.name, c.export, context.Cause(c.ctx))
	}
	return nil
}

// Run implements guests.Call.
func (c *call) Run(export string, params ...uint64) (uint64, error) {
	fn, stack := c.in.function(export, params)
	if fn == nil {
		return 0, c.Fail(fmt.Errorf("%w: %s", ErrExport, export))
	}
	if c.inner == nil {
		c.inner = context.WithValue(c.ctx, callKey{}, c)
	}
	c.stack.of, c.stack.pool = fn, c.in.m.options.Memories
	err := fn.CallWithStack(c.inner, stack)
	c.stack.end()
	if c.overBudget && isLarge(fn) { // code within one budget cannot grow its stack far
		c.in.m.pool.stacks.revoke(c.in)
	}
	c.Settle()
	if err != nil {
		return 0, c.trapped(err)
	}
	return stack[0], nil
}

// Export implements guests.Call.
func (c *call) Export() string { return c.export }

// Context implements guests.Call.
func (c *call) Context() context.Context { return c.ctx }

// Exports implements guests.Call.
func (c *call) Exports(name string) bool { return c.in.mod.ExportedFunction(name) != nil }

// Memory implements guests.Call.
func (c *call) Memory() api.Memory { return c.in.mod.Memory() }

// Owner implements guests.Call.
func (c *call) Owner() *functions.Task {
	if c.owner == nil {
		return nil
	}
	return &c.owner.functions
}

// Task implements functions.Guest.
func (c *call) Task(id uint32) *functions.Task {
	if t := c.in.tasks[id]; t != nil {
		return &t.functions
	}
	return nil
}

// Config implements functions.Guest.
func (c *call) Config(key string) (value string, found bool) {
	value, found = c.in.m.options.Config[key]
	if !found && !c.registering {
		value, found = c.in.m.options.Secrets[key]
	}
	return value, found
}

// Files implements standard.Caller.
func (c *call) Files() *files.Set { return c.in.m.files }

// Log implements functions.Guest.
func (c *call) Log(t *functions.Task, level int, line []byte) {
	line = line[:min(len(line), functions.MaxLine)]
	if !c.in.m.output.Allow(len(line)) {
		return
	}
	text := functions.Text(line)
	if level >= abi.LevelCritical {
		c.lastCritical = text
		c.stack.words = c.size()
	}
	switch {
	case t != nil:
		t.Env.Log(level, text)
	case c.in.m.options.Log != nil:
		c.in.m.options.Log(level, text)
	}
}

// Random implements standard.Caller. It fills the buffer in pieces, so that the call can be
// stopped, and others can compute.
func (c *call) Random(buf []byte) {
	if c.around != nil {
		c.around.Random(buf)
		return
	}
	for len(buf) > 0 {
		piece := buf[:min(len(buf), 64<<10)]
		rand.Read(piece) // never fails, see its documentation
		buf = buf[len(piece):]
		if c.enter(false) {
			c.count()
		}
	}
}

// Settle implements guests.Call.
func (c *call) Settle() {
	c.count()
	c.in.m.meter.calls.Add(1)
}

// count adds the cost since its last call to that of the module.
func (c *call) count() { c.in.m.meter.add(c.used()) }

// yield is called by the guest's code when its budget is used up. It returns the next budget, or ends the call. The cost of a
// call that runs for long is counted meanwhile, as its end may never come.
func (c *call) yield() int64 {
	c.overBudget = true
	if c.budget.yield() {
		c.count()
	}
	return prepare.Budget
}

// pause waits without a core, and moves the clock. It ends early when the context is done or
// the task is cancelled, and reports that.
func (c *call) pause(d time.Duration) (slept time.Duration, early bool) {
	if c.around != nil {
		slept, early = c.around.Sleep(func() (time.Duration, bool) { return c.sleep(d) })
	} else {
		slept, early = c.sleep(d)
	}
	c.in.clock.Set(c.guestTime(time.Now()))
	return slept, early
}

// sleep waits without a core.
func (c *call) sleep(d time.Duration) (slept time.Duration, early bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	early = true
	began := time.Now()
	c.slept += c.away(func() {
		select {
		case <-timer.C:
			early = false
		case <-c.ctx.Done():
		case <-c.woken:
		}
	})
	return time.Since(began), early
}

// away runs a function that waits, without the core of the call.
func (c *call) away(do func()) time.Duration {
	if c.owner != nil {
		waits(c.owner.functions.Env)
	}
	return c.withoutCore(do)
}

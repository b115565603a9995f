package host

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/linear"
	"github.com/kopf-wasm/kopf/host/prepare"
)

// instance is one copy of the guest: its memory and the tasks in it. Only one
// call runs in it at a time; overlapping calls would corrupt the guest's stack.
type instance struct {
	m      *Module
	mod    api.Module
	memory *linear.Memory // nil for native programs

	// busy holds a token while a goroutine uses the instance. The holder owns all fields
	// below. It is a channel instead of a mutex, so that waiting can end with a context.
	busy chan struct{}

	permits chan struct{} // the channel that its permit came from
	load    int           // number of tasks on it, including those that are about to start; guarded by pool.mu

	functions atomic.Pointer[functions] // nil without recent calls; see stacks
	streams   [2]lineWriter             // standard output and error
	tasks     map[uint32]*Task          // tasks that are not released
	last      uint32                    // the highest number of a task so far
	calls     int                       // invocations so far
	idleSince time.Time                 // guarded by the pool
	dead      error                     // the reason why the instance is unusable
	kernel    *kernel                   // for plugins; nil for others
	program   *program                  // for native programs; nil for modules
	tainted   bool                      // no other task may use the instance
	skew      time.Duration             // how far the monotonic clock was moved forward
}

// hold waits for exclusive use of the instance. The holder must neither wait for another
// instance nor run the guest without a core. See pool for the lock order.
func (in *instance) hold() { in.busy <- struct{}{} }

// holdUntil is hold with a context. The Env is that of the waiting task, or nil.
func (in *instance) holdUntil(ctx context.Context, env Env) error { return seize(ctx, in.busy, env) }

// holdWithCore takes the instance for a caller that has a core. The caller has a core
// afterwards, too. It never waits while it has the core, because the holder of the instance
// may need the core to finish.
func (in *instance) holdWithCore() {
	select {
	case in.busy <- struct{}{}:
	default:
		leaveCore()
		in.hold()
		takeCore()
	}
}

// release undoes hold.
func (in *instance) release() { <-in.busy }

// lock takes the instance and a core, or gives up with the context.
func (in *instance) lock(ctx context.Context, env Env) error {
	if err := in.holdUntil(ctx, env); err != nil {
		return err
	}
	takeCore() // its holder releases it soon
	return nil
}

// unlock undoes lock.
func (in *instance) unlock() {
	leaveCore()
	in.release()
}

// newTask creates a task with a unique number.
func (in *instance) newTask(env Env) *Task {
	for {
		if in.last++; in.last >= 1<<31 {
			in.last = 1
		}
		if in.tasks[in.last] == nil {
			break
		}
	}
	t := &Task{in: in, id: in.last, env: env, cancelled: make(chan struct{})}
	in.tasks[t.id] = t
	in.calls++
	return t
}

// newCall creates a call of an export. The task may be nil.
func (in *instance) newCall(ctx context.Context, export string, t *Task) *call {
	now := time.Now()
	c := &call{in: in, export: export, ctx: ctx, began: now, shared: now, now: now, settled: now}
	if t != nil {
		c.owner, c.woken = t, t.cancelled
	}
	return c
}

// call calls an export. Any error is a GuestError, and makes the instance unusable.
func (c *call) call(export string, params ...uint64) (uint64, error) {
	if c.in.dead != nil {
		return 0, c.dead()
	}
	if err := c.ctx.Err(); err != nil && !c.registering {
		return 0, fmt.Errorf("%s: %s is not called: %w", c.in.m.name, c.export, context.Cause(c.ctx))
	}
	c.in.unfold()
	fn, stack := c.in.function(export, params)
	if fn == nil {
		return 0, c.fail(fmt.Errorf("%w: %s", ErrExport, export))
	}
	err := fn.CallWithStack(context.WithValue(c.ctx, callKey{}, c), stack)
	if c.yields > 0 {
		c.in.m.pool.stacks.revoke(c.in) // a long computation may have grown the stack
	}
	c.settle()
	if err != nil {
		return 0, c.fail(err)
	}
	return stack[0], nil
}

// function returns an export, or the function that calls it, and the stack for the call:
// first the parameters, then the result.
func (in *instance) function(export string, params []uint64) (api.Function, []uint64) {
	fns := in.functions.Load()
	if fns == nil {
		fns = in.m.pool.stacks.grant(in)
	}
	if number, ok := in.m.entries[export]; ok {
		if fns.enter == nil {
			fns.enter = in.mod.ExportedFunction(prepare.Enter)
		}
		stack := [4]uint64{number}
		copy(stack[1:], params)
		return fns.enter, stack[:]
	}
	fn := fns.others[export]
	if fn == nil {
		if fn = in.mod.ExportedFunction(export); fn != nil {
			fns.others[export] = fn
		}
	}
	return fn, append(params, 0)
}

// send writes a message into memory that the guest allocates. The function write appends it
// to an empty slice of exactly the right capacity.
func (c *call) send(size int, write func(buf []byte)) (uint64, error) {
	ptr, err := c.call(abi.ExportAlloc, uint64(size))
	if err != nil {
		return 0, err
	}
	if ptr == 0 {
		return 0, c.fail(fmt.Errorf("%w: no memory for a message of %d bytes", ErrMemory, size))
	}
	view, found := c.memory().view(uint32(ptr), uint32(size))
	if !found {
		return 0, c.fail(fmt.Errorf("%w: %s returned an address outside of the memory", ErrMessage, abi.ExportAlloc))
	}
	write(view[:0:size])
	return ptr, nil
}

// receive returns the message at the address and length in a result. The message is a view
// of the guest's memory.
func (c *call) receive(result uint64) ([]byte, error) {
	ptr, size := uint32(result>>32), uint32(result)
	if limit := c.options().MessageLimit; uint64(size) > uint64(limit) {
		return nil, c.fail(fmt.Errorf("%w: it has %d bytes, the limit is %d", ErrMessage, size, limit))
	}
	view, found := c.memory().view(ptr, size)
	if !found {
		return nil, c.fail(fmt.Errorf("%w: it lies outside of the memory", ErrMessage))
	}
	return view, nil
}

// exchange sends a message to an export and receives its answer. The params precede the
// address and the length.
func (c *call) exchange(size int, write func(buf []byte), params ...uint64) ([]byte, error) {
	if k := c.in.kernel; k != nil {
		return c.converse(k, size, write, params)
	}
	if p := c.in.program; p != nil {
		message := make([]byte, size)
		write(message[:0])
		return p.calls(c, uint32(append(params, 0)[0]), message)
	}
	ptr, err := c.send(size, write)
	if err != nil {
		return nil, err
	}
	result, err := c.call(c.export, append(params, ptr, uint64(size))...)
	if err != nil {
		return nil, err
	}
	return c.receive(result)
}

// sendBytes returns the size and the writer of a complete message.
func sendBytes(data []byte) (int, func([]byte)) {
	return len(data), func(buf []byte) { _ = append(buf, data...) }
}

// sendFrame returns the size and the writer of a frame.
func sendFrame(segments ...abi.Segment) (int, func([]byte)) {
	return abi.FrameSize(segments...), func(buf []byte) { abi.AppendFrame(buf, segments...) }
}

// retired reports whether the instance should get no more tasks.
func (in *instance) retired() bool {
	o := &in.m.options
	return in.dead != nil || in.tainted || in.calls >= o.RetireCalls ||
		int(in.mod.Memory().Size()) > o.RetireMemory
}

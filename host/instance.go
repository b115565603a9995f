package host

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/kopf-wasm/kopf/host/functions"
	"github.com/kopf-wasm/kopf/host/guests"
	"github.com/kopf-wasm/kopf/host/linear"
	"github.com/kopf-wasm/kopf/host/output"
	"github.com/kopf-wasm/kopf/host/prepare"
	"github.com/kopf-wasm/kopf/host/wasi"
)

// instance is one copy of the guest: its memory and the tasks in it. Only one
// call runs in it at a time; overlapping calls would corrupt the guest's stack.
type instance struct {
	m      *Module
	mod    api.Module     // nil for native programs
	memory *linear.Memory // nil for native programs

	// busy holds a token while a goroutine uses the instance. The holder owns all fields
	// below. It is a channel instead of a mutex, so that waiting can end with a context.
	busy chan struct{}

	permits chan struct{} // the channel that its permit came from
	load    int           // number of tasks on it, including those that are about to start; guarded by pool.mu

	guest   guests.Guest
	exports atomic.Pointer[exports]     // nil without recent calls; see stacks
	stack   [prepare.EnterParams]uint64 // for the parameters and the result of a call
	clock   wasi.Clock
	streams [2]output.Lines  // standard output and error
	tasks   map[uint32]*Task // tasks that are not released
	last    uint32           // the highest number of a task so far
	queued  queue
	condition
}

// condition says whether an instance can have more tasks.
type condition struct {
	from      *snapshot // what it is a clone of; nil: of nothing
	starting  bool      // it is for startup handlers; guarded by the pool
	calls     int       // invocations so far
	idleSince time.Time // guarded by the pool
	dead      error     // the reason why the instance is unusable
	tainted   bool      // no other task may use the instance
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
		in.m.options.Share.Leave()
		in.hold()
		in.m.options.Share.Take()
	}
}

// release undoes hold.
func (in *instance) release() { <-in.busy }

// lock takes the instance and a core, or gives up with the context.
func (in *instance) lock(ctx context.Context, env Env) error {
	if err := in.holdUntil(ctx, env); err != nil {
		return err
	}
	if err := in.m.options.Share.Enter(ctx); err != nil {
		in.release()
		return err
	}
	return nil
}

// unlock undoes lock.
func (in *instance) unlock() {
	in.m.options.Share.Leave()
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
	t := &Task{in: in, id: in.last, functions: functions.Task{Env: env}, cancelled: make(chan struct{})}
	in.tasks[t.id] = t
	in.calls++
	return t
}

// function returns an export, or the function that calls it, and the stack for the call:
// first the parameters, then the result.
func (in *instance) function(export string, params []uint64) (api.Function, []uint64) {
	fns := in.exports.Load()
	if fns == nil {
		fns = in.m.pool.stacks.grant(in)
	}
	if number, ok := in.m.entries[export]; ok {
		if fns.enter == nil {
			fns.enter = in.mod.ExportedFunction(prepare.Enter)
		}
		stack := in.stack[:prepare.EnterParams]
		stack[0] = number
		clear(stack[1+copy(stack[1:], params):])
		return fns.enter, stack
	}
	fn := fns.others[export]
	if fn == nil {
		if fn = in.mod.ExportedFunction(export); fn != nil {
			fns.others[export] = fn
		}
	}
	return fn, append(append(in.stack[:0], params...), 0)
}

// isOnly reports whether the engine cannot discard the instance: see pool.only.
func (in *instance) isOnly() bool { return in == in.m.pool.only }

// retired reports whether the instance should get no more tasks.
func (in *instance) retired() bool {
	o := &in.m.options
	return in.dead != nil || in.from != in.m.snapshot.Load() || in.tainted || in.calls >= o.RetireCalls ||
		int(in.mod.Memory().Size()) > o.RetireMemory
}

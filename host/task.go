package host

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/functions"
	"github.com/kopf-wasm/kopf/host/guests"
)

// Task is one call of a handler. Its methods are safe for concurrent use: calls on one
// instance wait for each other.
//
// The end of its context stops a call. Sleeps of the guest end at once. A call that still
// computes after Options.StopGrace fails with a GuestError that wraps the context's error.
// To end a task gracefully, use Cancel.
type Task struct {
	in      *instance
	id      uint32
	culprit culprit // of questions: none

	functions functions.Task

	child bool // uses the place of its parent

	cancelOnce sync.Once
	cancelled  chan struct{} // closed by Cancel

	// The holder of the instance owns these.
	waits    bool // the last step was a wish, so resume follows
	lives    bool // the task is done, with children or transformations
	changes  bool // the task is done, with transformations
	released bool
}

// Resume continues a waiting task, and returns its next step.
func (t *Task) Resume(ctx context.Context, answer abi.Answer) (*abi.Step, error) {
	if err := t.hold(ctx); err != nil {
		return nil, err
	}
	defer t.in.unlock()
	message, err := json.Marshal(answer) // counts as computing of the guest
	if err != nil {
		return nil, fmt.Errorf("answer for %s: %w", abi.ExportResume, err)
	}
	if !t.waits {
		return nil, fmt.Errorf("task %d of %s does not wait", t.id, t.in.m.name)
	}
	c := t.in.newCall(ctx, abi.ExportResume, t)
	data, err := c.exchange(guests.Message{Task: t.id, Text: message})
	if err != nil {
		return nil, err
	}
	return t.step(c, data)
}

// hold takes the instance of a task that is not released.
func (t *Task) hold(ctx context.Context) error {
	if err := t.in.holdUntil(ctx, t.functions.Env); err != nil {
		return fmt.Errorf("task %d of %s: %w", t.id, t.in.m.name, err)
	}
	if t.released { // other tasks may own the instance: return without waiting for it
		t.in.release()
		return fmt.Errorf("task %d of %s is released", t.id, t.in.m.name)
	}
	if err := t.in.m.options.Share.Enter(ctx); err != nil {
		t.in.release()
		return fmt.Errorf("task %d of %s: %w", t.id, t.in.m.name, err)
	}
	return nil
}

// step decodes the answer of start and resume, and records which calls may follow.
func (t *Task) step(c *call, data []byte) (*abi.Step, error) {
	t.waits, t.lives, t.changes = false, false, false
	t.functions.Forget()
	step, err := decodeStep(data)
	if err != nil {
		return nil, c.Fail(err)
	}
	if c.starved(step) {
		return nil, c.starvation()
	}
	if step.Error != nil {
		c.nameCaught(step.Error)
		step.Error.Stack = t.in.m.shown(step.Error.Stack)
		t.in.m.output.Quote(&step.Error.Message, &step.Error.Stack)
	}
	t.waits = step.Step != abi.StepDone
	t.changes = !t.waits && step.Transforms > 0
	t.lives = t.changes || !t.waits && len(step.Children) > 0
	return step, nil
}

// Start calls a child of the task on the same instance. The index inv.Handler refers to the
// children of the last step.
func (t *Task) Start(ctx context.Context, inv *abi.Invocation, body []byte, env Env) (*Task, *abi.Step, error) {
	if err := t.hold(ctx); err != nil {
		return nil, nil, err
	}
	defer t.in.unlock()
	header := *inv
	header.Parent = t.id
	child := t.in.newTask(env)
	child.child, child.culprit = true, t.culprit
	step, err := child.begin(ctx, &header, body)
	if err != nil {
		delete(t.in.tasks, child.id)
		return nil, nil, err
	}
	return child, step, nil
}

// begin makes the first call of a task.
func (t *Task) begin(ctx context.Context, inv *abi.Invocation, body []byte) (*abi.Step, error) {
	header, err := headerOf(inv)
	if err != nil {
		return nil, fmt.Errorf("invocation for %s: %w", abi.ExportStart, err)
	}
	c := t.in.newCall(ctx, abi.ExportStart, t)
	data, err := c.exchange(guests.Message{Task: t.id, Text: header, Framed: true, Body: body})
	if err != nil {
		return nil, err
	}
	return t.step(c, data)
}

// Ask calls callbacks of the task's children. It uses the task's own instance, because only
// that instance knows them.
func (t *Task) Ask(ctx context.Context, q *abi.Questions, body []byte, env Env) (*abi.Answers, error) {
	if err := t.hold(ctx); err != nil {
		return nil, err
	}
	defer t.in.unlock()
	asked := *q
	asked.Questions = append([]abi.Question(nil), q.Questions...)
	for i := range asked.Questions {
		asked.Questions[i].Parent = t.id
	}
	return t.in.ask(ctx, &asked, body, env)
}

// Cancel asks the guest to end the task. A running sleep of the guest ends now. From the
// next Resume on, the guest answers all its waits at once. Cancel waits for a running call.
func (t *Task) Cancel(ctx context.Context) error {
	t.cancelOnce.Do(func() { close(t.cancelled) })
	if err := t.hold(ctx); err != nil {
		return err
	}
	defer t.in.unlock()
	if !t.waits {
		return nil
	}
	return t.in.newCall(ctx, abi.ExportCancel, t).tell(t.id)
}

// Transform applies the transformation functions of the task to a body, and returns the
// whole new body. It can be repeated.
//
// Errors: a HandlerError for an error that a function returned; GuestError.
func (t *Task) Transform(ctx context.Context, body []byte) ([]byte, error) {
	if err := t.hold(ctx); err != nil {
		return nil, err
	}
	defer t.in.unlock()
	if !t.changes {
		return nil, fmt.Errorf("task %d of %s has no transformations", t.id, t.in.m.name)
	}
	c := t.in.newCall(ctx, abi.ExportTransform, t)
	data, err := c.exchange(guests.Message{Task: t.id, Text: body})
	if err != nil {
		return nil, err
	}
	result, err := decodeTransform(data)
	if err != nil {
		return nil, c.Fail(err)
	}
	if result.Error != nil {
		result.Error.Stack = t.in.m.shown(result.Error.Stack)
		t.in.m.output.Quote(&result.Error.Message, &result.Error.Stack)
		return nil, &HandlerError{Module: t.in.m.name, Guest: *result.Error}
	}
	return result.Body, nil
}

// releaseLimit bounds the time in which a guest forgets a task.
const releaseLimit = time.Second

// Release frees the task, even if its context has ended. The caller must call it, and may
// call it again. The last task on an instance returns it to the pool. A task that is
// released before its end destroys the instance.
func (t *Task) Release(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	_ = t.in.holdUntil(ctx, t.functions.Env) // never fails; all running calls are bounded
	defer t.in.release()
	if t.released {
		return
	}
	t.released = true
	if t.waits {
		t.in.tainted = true
	}
	isKept := t.lives || t.waits && t.in.isOnly() // other instances are discarded with a waiting task
	if isKept && t.in.dead == nil {
		t.forget(ctx)
	}
	t.functions.Forget() // what functions of a patch have asked for
	delete(t.in.tasks, t.id)
	t.in.vacate(!t.child)
}

// forget lets the guest forget the task. The context has no end of its own. Only this needs a core. An instance whose task left
// nothing is available at once, before goroutines that wait for a core create more
// instances.
func (t *Task) forget(ctx context.Context) {
	share := t.in.m.options.Share
	share.Take()
	defer share.Leave()
	if !t.in.isOnly() { // that one may have stopped at a breakpoint
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, releaseLimit)
		defer cancel()
	}
	// An error makes the instance unusable, and has no other consequence.
	_ = t.in.newCall(ctx, abi.ExportRelease, t).tell(t.id)
}

// vacate ends a task on an instance that the caller holds. The parameter place says whether
// the task had a place on a shared instance. Children use the place of their parent, and may
// outlive it. The last task returns the instance to the pool.
func (in *instance) vacate(place bool) {
	if in.m.pool.leave(in, place) && len(in.tasks) == 0 {
		in.m.pool.give(in)
	}
}

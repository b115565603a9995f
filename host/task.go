package host

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/abi"
)

// Task is one call of a handler. Its methods are safe for concurrent use: calls
// on one instance wait for each other.
//
// A call whose context ends is stopped: sleeps of the guest end at once, and
// what still computes after Options.StopGrace fails with a GuestError that wraps
// the context's error. To end a task politely, Cancel it instead.
type Task struct {
	in  *instance
	id  uint32
	env Env
	key string // see culprits; empty for questions

	child bool // lives on the place of its parent
	meter meter

	cancelOnce sync.Once
	cancelled  chan struct{} // closed by Cancel

	// These belong to the holder of the instance.
	waits    bool // the last step was a wish: resume comes next
	lives    bool // it is done, with children or transformations
	changes  bool // it is done, with transformations
	released bool
	cached   abi.Segment // the segment that was asked for last
}

// Resume continues a task that waits, and returns its next step.
func (t *Task) Resume(ctx context.Context, answer abi.Answer) (*abi.Step, error) {
	message, err := json.Marshal(answer)
	if err != nil {
		return nil, fmt.Errorf("answer for %s: %w", abi.ExportResume, err)
	}
	if err := t.hold(ctx); err != nil {
		return nil, err
	}
	defer t.in.unlock()
	if !t.waits {
		return nil, fmt.Errorf("task %d of %s does not wait", t.id, t.in.m.name)
	}
	c := t.in.newCall(ctx, abi.ExportResume, t)
	size, write := sendBytes(message)
	data, err := c.exchange(size, write, uint64(t.id))
	if err != nil {
		return nil, err
	}
	return t.step(c, data)
}

// hold takes the instance of a task that is not released.
func (t *Task) hold(ctx context.Context) error {
	if err := t.in.holdUntil(ctx, t.env); err != nil {
		return fmt.Errorf("task %d of %s: %w", t.id, t.in.m.name, err)
	}
	if t.released { // the instance may belong to others: wait for nothing with it
		t.in.release()
		return fmt.Errorf("task %d of %s is released", t.id, t.in.m.name)
	}
	takeCore()
	return nil
}

// step decodes the answer of start and resume, and remembers what may come next.
func (t *Task) step(c *call, data []byte) (*abi.Step, error) {
	t.waits, t.lives, t.changes, t.cached = false, false, false, abi.Segment{}
	step, err := decodeStep(data)
	if err != nil {
		return nil, c.fail(err)
	}
	t.waits = step.Step != abi.StepDone
	if t.in.rests(step) {
		t.in.fold()
	}
	t.changes = !t.waits && step.Transforms > 0
	t.lives = t.changes || !t.waits && len(step.Children) > 0
	return step, nil
}

// Start calls a child of the task on the same instance; inv.Handler is its
// position among the children of the last step.
func (t *Task) Start(ctx context.Context, inv *abi.Invocation, body []byte, env Env) (*Task, *abi.Step, error) {
	if err := t.hold(ctx); err != nil {
		return nil, nil, err
	}
	defer t.in.unlock()
	header := *inv
	header.Parent = t.id
	child := t.in.newTask(env)
	child.child, child.key = true, t.key
	step, err := child.begin(ctx, &header, body)
	if err != nil {
		delete(t.in.tasks, child.id)
		return nil, nil, err
	}
	return child, step, nil
}

// begin makes the first call of a task.
func (t *Task) begin(ctx context.Context, inv *abi.Invocation, body []byte) (*abi.Step, error) {
	header, err := json.Marshal(inv)
	if err != nil {
		return nil, fmt.Errorf("invocation for %s: %w", abi.ExportStart, err)
	}
	c := t.in.newCall(ctx, abi.ExportStart, t)
	size, write := sendFrame(frame(header, body)...)
	data, err := c.exchange(size, write, uint64(t.id))
	if err != nil {
		return nil, err
	}
	return t.step(c, data)
}

// frame is what start and ask get: the header, and the body if there is an object.
func frame(header, body []byte) []abi.Segment {
	segments := []abi.Segment{{Tag: abi.TagHeader, Data: header}}
	if len(body) > 0 {
		segments = append(segments, abi.Segment{Tag: abi.TagBody, Data: body})
	}
	return segments
}

// Ask asks callbacks of the children of the task: on its own instance, since
// only that knows them.
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

// Cancel tells the task to end: a running sleep of the guest ends now, and from
// the next Resume on all its waits are answered at once. It waits for a running call.
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

// Transform applies the transformation functions of the task to a body, and
// returns the whole new body. It can be repeated.
//
// Errors: a HandlerError for one that a function returned; GuestError.
func (t *Task) Transform(ctx context.Context, body []byte) ([]byte, error) {
	if err := t.hold(ctx); err != nil {
		return nil, err
	}
	defer t.in.unlock()
	if !t.changes {
		return nil, fmt.Errorf("task %d of %s has no transformations", t.id, t.in.m.name)
	}
	c := t.in.newCall(ctx, abi.ExportTransform, t)
	size, write := sendBytes(body)
	data, err := c.exchange(size, write, uint64(t.id))
	if err != nil {
		return nil, err
	}
	result, err := decodeTransform(data)
	if err != nil {
		return nil, c.fail(err)
	}
	if result.Error != nil {
		return nil, &HandlerError{Module: t.in.m.name, Guest: *result.Error}
	}
	return result.Body, nil
}

// releaseLimit bounds how long a guest takes to forget a task.
const releaseLimit = time.Second

// Release forgets the task, also if its context is done; it must always be
// called, and may be called again. The last task on an instance gives it back. A
// task that is released before its end takes the instance with it.
func (t *Task) Release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseLimit)
	defer cancel()
	_ = t.in.holdUntil(context.WithoutCancel(ctx), t.env) // never fails; whatever runs is bounded
	defer t.in.release()
	if t.released {
		return
	}
	t.released = true
	if t.waits {
		t.in.tainted = true
	}
	isKept := t.lives || t.waits && t.in.program != nil
	if isKept && t.in.dead == nil {
		t.forget(ctx)
	}
	delete(t.in.tasks, t.id)
	t.in.vacate(!t.child)
}

// forget lets the guest forget the task. Only that needs a core: an instance whose
// task left nothing is free for the next one at once, before those who wait for a
// core make more of them.
func (t *Task) forget(ctx context.Context) {
	takeCore()
	defer leaveCore()
	if t.in.program != nil { // it may have stopped at a breakpoint meanwhile
		ctx = context.WithoutCancel(ctx)
	}
	// An error leaves the instance dead, which is all that matters here.
	_ = t.in.newCall(ctx, abi.ExportRelease, t).tell(t.id)
}

// vacate is called by the holder of an instance when a task ends on it: with the place that the task had
// on a shared instance, if any. Children live on the place of their parent, and may live longer. The
// last of all gives the instance back.
func (in *instance) vacate(place bool) {
	if in.m.pool.leave(in, place) && len(in.tasks) == 0 {
		in.m.pool.give(in)
	}
}

// segment fetches a segment, and keeps it for the next time: guests ask for the
// length first.
func (t *Task) segment(tag uint32) []byte {
	if t.cached.Data == nil || t.cached.Tag != tag {
		t.cached = abi.Segment{Tag: tag, Data: t.env.Segment(tag)}
	}
	return t.cached.Data
}

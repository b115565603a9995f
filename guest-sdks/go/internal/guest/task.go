package guest

import (
	"context"

	"github.com/kopf-wasm/kopf/abi"
)

// Task is one attempt of a handler, or the evaluation of its filters.
type Task struct {
	ID   uint32
	Call abi.Invocation
	Body []byte // nil if the handler has no object
	Host Host

	// Suspend hands a wish to the host, and waits for its answer. It is nil
	// where nothing can be waited for: in filters.
	Suspend func(*abi.Step) abi.Answer

	// Cancelled says that the task is to end.
	Cancelled bool

	ctx      context.Context
	cancel   context.CancelFunc
	children []*Handler
}

// taskKey is the key of the task in its context.
type taskKey struct{}

// Context ends when the task is cancelled. It is made when it is first asked for.
func (t *Task) Context() context.Context {
	if t.ctx == nil {
		root := context.Background() //nolint:forbidigo // the host has no context to hand over
		ctx := context.WithValue(root, taskKey{}, t)
		t.ctx, t.cancel = context.WithCancel(ctx)
		if t.Cancelled {
			t.cancel()
		}
	}
	return t.ctx
}

// FromContext is the task that a context was made for; nil if for none.
func FromContext(ctx context.Context) *Task {
	t, _ := ctx.Value(taskKey{}).(*Task)
	return t
}

// Cancel ends the context of the task.
func (t *Task) Cancel() {
	t.Cancelled = true
	if t.cancel != nil {
		t.cancel()
	}
}

// Ask hands a step to the host, and notes it if the task is cancelled meanwhile.
func (t *Task) Ask(step *abi.Step) abi.Answer {
	if t.Suspend == nil {
		return abi.Answer{Error: &abi.Error{Kind: abi.ErrorPermanent, Message: "filters cannot wait"}}
	}
	answer := t.Suspend(step)
	if answer.Cancelled {
		t.Cancel()
	}
	return answer
}

// Execute runs children now. It returns true if they are not all finished.
func (t *Task) Execute(children []*Handler, lifecycle string) (pending bool) {
	t.children = children
	answer := t.Ask(&abi.Step{Step: abi.StepExecute, Children: Declare(children), Lifecycle: lifecycle})
	return answer.Pending
}

// Children are those of the last step.
func (t *Task) Children() []*Handler { return t.children }

// Child is a child that the task declared in its last step; nil if there is none.
func (t *Task) Child(index int) *Handler {
	if index < 0 || index >= len(t.children) {
		return nil
	}
	return t.children[index]
}

// running is a task between two calls of the host.
type running struct {
	Task
	worker     *worker // nil after the last step
	transforms []Transform
}

// finish makes the last step of what the handler left.
func (r *running) finish(d Done) *abi.Step {
	r.children, r.transforms = d.Children, d.Transforms
	if r.cancel != nil {
		r.cancel() // lets go of what derives from the context
	}
	d.Outcome.Transforms = len(d.Transforms)
	step := &abi.Step{Step: abi.StepDone, Outcome: d.Outcome}
	if len(d.Children) > 0 {
		step.Children, step.Lifecycle = Declare(d.Children), d.Lifecycle
	}
	return step
}

// done tells whether the last step was made.
func (r *running) done() bool { return r.worker == nil }

// leaves tells whether the task left something that is needed after its last step.
func (r *running) leaves() bool { return len(r.children) > 0 || len(r.transforms) > 0 }

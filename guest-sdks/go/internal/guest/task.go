package guest

import (
	"context"
	"sync"

	"github.com/kopf-wasm/kopf/abi"
)

// Task is one attempt of a handler, or the evaluation of its filters.
type Task struct {
	ID   uint32
	Call abi.Invocation // but for what has a method below
	Body []byte         // nil if the handler has no object
	Host Host

	// Suspend hands a wish to the host, and waits for its answer. It is nil
	// where nothing can be waited for: in filters.
	Suspend func(*abi.Step) abi.Answer

	// Cancelled says that the task is to end.
	Cancelled bool

	// Above is the argument of the handler that has declared this one with Change.Sub.
	Above any

	// A context.Context, if it was asked for. A field of that type would bring the times
	// of deadlines with all their methods into each module: 150 KB.
	context  any
	cancel   func()
	children []*Handler
	executes sync.Mutex // held while the children are those of one execution
	requests requests

	admission, conversion []byte // not decoded yet
}

// What only some kinds of handlers need is read when they ask for it, so that the linker
// leaves it out of modules without such handlers.

// Admission are the arguments of a review; nil if the task is not a review.
func (t *Task) Admission() *abi.Admission {
	if t.Call.Admission == nil && t.admission != nil {
		t.Call.Admission = toAdmission(t.admission)
	}
	return t.Call.Admission
}

// Conversion are the versions of a conversion; nil if the task is not a conversion.
func (t *Task) Conversion() *abi.Conversion {
	if t.Call.Conversion == nil && t.conversion != nil {
		t.Call.Conversion = toConversion(t.conversion)
	}
	return t.Call.Conversion
}

// requests knows how requests are written, and how their answers are read: for the
// same reason, only in tasks that have made one.
type requests struct {
	write func(*writer, *abi.Call)
	read  func(answer *abi.Answer, key, value []byte)
}

// Request hands a request to the host, and waits for the answer.
func (t *Task) Request(call *abi.Call) abi.Answer {
	t.requests = requests{(*writer).call, toRequestAnswer}
	return t.Ask(&abi.Step{Step: abi.StepCall, Call: call})
}

// taskKey is the key of the task in its context.
type taskKey struct{}

// Context ends when the task is cancelled. It is made when it is first asked for.
func (t *Task) Context() context.Context {
	if ctx, ok := t.context.(context.Context); ok {
		return ctx
	}
	root := context.Background() //nolint:forbidigo // the host has no context to hand over
	ctx, cancel := context.WithCancel(context.WithValue(root, taskKey{}, t))
	t.context, t.cancel = ctx, cancel
	if t.Cancelled {
		cancel()
	}
	return ctx
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

// Execute runs children now, whose patches follow the one of the task so far. It returns true if they are not all finished.
func (t *Task) Execute(children []*Handler, lifecycle string, patch abi.Raw) (pending bool) {
	t.executes.Lock()
	defer t.executes.Unlock()
	t.children = children
	answer := t.Ask(&abi.Step{Step: abi.StepExecute, Outcome: abi.Outcome{Patch: patch}, Children: Declare(children), Lifecycle: lifecycle})
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
	transforms Transforms
}

// finish makes the last step of what the handler left.
func (r *running) finish(d Done) abi.Step {
	r.children, r.transforms = d.Children, d.Transforms
	if r.cancel != nil {
		r.cancel() // lets go of what derives from the context
	}
	d.Outcome.Transforms = len(d.Transforms.list)
	r.Suspend = ended
	step := abi.Step{Step: abi.StepDone, Outcome: d.Outcome}
	if len(d.Children) > 0 {
		step.Children, step.Lifecycle = Declare(d.Children), d.Lifecycle
	}
	return step
}

// ended answers a goroutine that outlives its handler. Its wish would be taken for that of the next handler, which is about another
// object, and may be in a dry run or not.
func ended(*abi.Step) abi.Answer {
	return abi.Answer{Cancelled: true, Error: &abi.Error{Kind: abi.ErrorPermanent, Message: "the handler has ended: its goroutines can ask the host for nothing"}}
}

// done tells whether the last step was made.
func (r *running) done() bool { return r.worker == nil }

// leaves tells whether the task left something that is needed after its last step.
func (r *running) leaves() bool { return len(r.children) > 0 || len(r.transforms.list) > 0 }

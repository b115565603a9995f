package handling

import (
	"context"
	"fmt"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/durations"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/meters"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/stoppers"
	"github.com/kopf-wasm/kopf/reactor/tracing"
	"github.com/kopf-wasm/kopf/stores"
)

// These limit what a cancelled task may do to clean up. Each request that it makes inside of a step begins its limit of computing
// again.
const (
	cancelledSteps = 100
	cancelledTime  = time.Minute
)

// call starts a handler and answers its steps until it ends. It adds the handler's patch
// to the patch of the cause.
func (x *Execution) call(ctx context.Context, h *registries.Handler, c *Cause, state progression.HandlerState) (*Ending, error) {
	talk, step, err := x.Open(ctx, h, c, state, &Env{Cause: c})
	defer func() { talk.Close(ctx) }() // after errors, and after a panic, too
	if err == nil {
		err = talk.run(ctx, step)
	}
	return &talk.Ending, err
}

// Conversation is one call of a handler from its first step to its last one.
type Conversation struct {
	Ending
	Execution *Execution
	Handler   *registries.Handler
	Cause     *Cause
	Task      guests.Task // nil if the handler could not be started
	env       *Env        // of the task
	declared  int         // number of sub-handlers so far
	patched   abi.Raw     // what of the handler's patch the cycle has already; nil: nothing
	held      held
	kept      bool           // the patch keeps the task, which has transformations left
	cancelled bool           // the task was asked to end
	underway  *underway      // the request whose answer the guest has not received; nil: none
	counted   *meters.Series // the call counts here until it is closed; nil: nowhere
	began     time.Time
	span      *tracing.Span // of the call; nil: it is not traced
}

// held are bytes in the account.
type held struct {
	answered int // of the current answer
	arrived  int // of the current step
}

// arrives counts a step, which may wait for the operator's turn to compute, until it is taken. A step that does not fit is dropped.
func (t *Conversation) arrives(step *abi.Step) (*abi.Step, error) {
	t.taken()
	size := textOf(step)
	if err := t.Cause.Account.Take(accounts.Patches, size); err != nil {
		return nil, t.tooLarge("result", err)
	}
	t.held.arrived = size
	return step, nil
}

// taken gives back the memory of a step that counts by its parts from now on, or is over.
func (t *Conversation) taken() {
	t.Cause.Account.Give(accounts.Patches, t.held.arrived)
	t.held.arrived = 0
}

// Open starts a handler. The caller must close the conversation, even after an error.
func (x *Execution) Open(ctx context.Context, h *registries.Handler, c *Cause, state progression.HandlerState, e *Env) (*Conversation, *abi.Step, error) {
	inv := c.invocation()
	inv.Handler, inv.Kind, inv.ID = h.Index, h.Spec.Kind, h.ID
	inv.Param, inv.Retry = h.Spec.Param, state.Retries
	inv.Started = stores.FormatTime(state.Started)
	inv.Runtime = state.Runtime(time.Now()).Truncate(time.Microsecond).Seconds() // as in Kopf; less is slow to write and to read, as it has an exponent
	talk := &Conversation{env: e, Execution: x, Handler: h, Cause: c, counted: c.meter(h), began: time.Now(), span: c.trace(ctx, h, state)}
	talk.counted.Begin(state.Retries > 0)
	task, step, err := h.Starter.Start(ctx, inv, c.Raw, e)
	if err != nil {
		talk.span.Fail(err.Error())
		return talk, nil, &guestError{err}
	}
	talk.Task = task
	step, err = talk.arrives(step)
	return talk, step, err
}

// Close releases the task, unless the patch keeps it.
func (t *Conversation) Close(ctx context.Context) {
	t.measured()
	t.abandon()
	t.delivered()
	t.taken()
	t.env.forget() // a call that has failed has not given it back
	if t.Task != nil && !t.kept {
		t.Task.Release(context.WithoutCancel(ctx))
	}
}

func (t *Conversation) run(ctx context.Context, step *abi.Step) error {
	for step.Step != abi.StepDone {
		var err error
		if step, err = t.Next(ctx, step); err != nil {
			return err
		}
	}
	return t.End(ctx, step)
}

// Next answers a step of the guest and returns the next step.
func (t *Conversation) Next(ctx context.Context, step *abi.Step) (*abi.Step, error) {
	answer, err := t.fulfil(ctx, step)
	if err != nil {
		return nil, err
	}
	return t.Resume(ctx, answer)
}

// Resume answers the last step and returns the next step.
func (t *Conversation) Resume(ctx context.Context, answer abi.Answer) (*abi.Step, error) {
	if err := t.Execution.mayContinue(); err != nil {
		return nil, err
	}
	step, err := t.Task.Resume(ctx, answer)
	t.delivered()
	if err != nil {
		t.span.Fail(err.Error())
		return nil, &guestError{err}
	}
	if step.Step != abi.StepCall || !step.Continue {
		t.abandon()
	}
	return t.arrives(step)
}

// delivered gives back the memory of an answer that the guest has, or will never get.
func (t *Conversation) delivered() {
	t.Cause.Account.Give(accounts.Answers, t.held.answered)
	t.held.answered = 0
}

// End takes the last step.
func (t *Conversation) End(ctx context.Context, step *abi.Step) error {
	if t.cancelled && step.Error != nil {
		return ErrCancelled
	}
	return t.finish(ctx, step)
}

// fulfil executes a step of the guest and returns the answer.
func (t *Conversation) fulfil(ctx context.Context, step *abi.Step) (abi.Answer, error) {
	switch step.Step {
	case abi.StepWait:
		return t.wait(ctx, step)
	case abi.StepExecute:
		err := t.takeEarly(ctx, step)
		if err == nil {
			err = t.runChildren(t.span.In(ctx), step.Children, step.Lifecycle)
		}
		return abi.Answer{Pending: t.error != nil}, err
	case abi.StepCall:
		if err := t.Execution.mayContinue(); err != nil {
			return abi.Answer{}, err
		}
		t.Cause.wait(ctx)
		return t.request(t.span.In(ctx), step)
	}
	return abi.Answer{}, &guestError{fmt.Errorf("%w: an unknown step %q", abi.ErrGuest, step.Step)}
}

// wait waits as a step asks. The wait ends with its time, with a reason to stop that the
// step names, with a cancellation, or when the operator gives up on the handler.
func (t *Conversation) wait(ctx context.Context, step *abi.Step) (abi.Answer, error) {
	t.Cause.wait(ctx)
	over := make(chan struct{})
	limit, reasons := t.Bounds(step)
	s := t.Cause.Stopper()
	if s == nil {
		s = stoppers.New() // it is never stopped
	}
	if n := s.Await(limit, reasons, func() { close(over) }); n != nil {
		select {
		case <-over:
		case <-ctx.Done():
			s.Forget(n)
		}
	}
	return t.Waited(ctx, step.Stoppable)
}

// Bounds returns the time of a wait, nil if unlimited, and the reasons to stop that end
// it.
func (t *Conversation) Bounds(step *abi.Step) (limit *time.Duration, reasons int) {
	if step.Seconds != nil {
		limit = new(durations.Seconds(*step.Seconds))
	}
	if step.Stoppable {
		reasons = stoppers.AnyReason
	}
	if t.cancelled {
		return limit, reasons
	}
	return limit, reasons | abi.StopDaemonCancelled
}

// Waited returns the answer to a wait that has ended for any reason.
func (t *Conversation) Waited(ctx context.Context, stoppable bool) (abi.Answer, error) {
	s := t.Cause.Stopper()
	switch {
	case ctx.Err() != nil:
		return abi.Answer{}, t.cancelNow(ctx)
	case s == nil:
		return abi.Answer{}, nil
	case s.IsCancelled() && !t.cancelled:
		t.cancelled = true
		if err := t.Task.Cancel(ctx); err != nil {
			return abi.Answer{}, &guestError{err}
		}
		return abi.Answer{Cancelled: true}, nil
	case stoppable:
		return abi.Answer{Stopped: abi.StopNames(s.Bits()), Cancelled: t.cancelled}, nil
	}
	return abi.Answer{Cancelled: t.cancelled}, nil
}

// cancelNow asks the task to end. The task may clean up, but its waits end at once.
func (t *Conversation) cancelNow(ctx context.Context) error {
	last, end := context.WithTimeout(context.WithoutCancel(ctx), cancelledTime)
	defer end()
	if err := t.Task.Cancel(last); err != nil {
		return &guestError{err}
	}
	answer := abi.Answer{Cancelled: true}
	for range cancelledSteps {
		step, err := t.Task.Resume(last, answer)
		if err != nil || step.Step == abi.StepDone {
			break
		}
		answer.Pending = step.Step == abi.StepExecute // they do not run: the handler must not go on as if they were done
	}
	return ctx.Err()
}

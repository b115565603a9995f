package handling

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/internal/durations"
	"github.com/kopf-wasm/kopf/internal/legible"
	"github.com/kopf-wasm/kopf/reactor/filters"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/meters"
	"github.com/kopf-wasm/kopf/reactor/patching"
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

// Ending says how a conversation with a guest ended.
type Ending struct {
	error         *abi.Error
	result        any
	size          int // of the text of the result, in bytes
	keyed         bool
	settings      map[string]abi.Raw
	warnings      []string // warnings of reviews
	subrefs       []string
	childrenDelay *time.Duration // shortest delay of unfinished sub-handlers; nil: no delay
}

// guestError is a failure of the guest itself: a trap, an invalid message, or invalid
// filters or records of sub-handlers. It counts as an arbitrary error of the handler.
type guestError struct{ err error }

func (e *guestError) Error() string { return e.err.Error() }
func (e *guestError) Unwrap() error { return e.err }

// noRoomDelay is the delay of a handler for which the host had no room, in seconds.
const noRoomDelay = 10

// maxFailure bounds the message of a failure, in bytes, as the host bounds those of guests: it quotes them.
const maxFailure = 64 << 10

// asError makes an error of the handler from the failure, with the guest's message and
// stack. Errors of callbacks keep theirs: the handler passes them on.
func (e *guestError) asError() *abi.Error {
	var callback *filters.CallbackError
	if errors.As(e.err, &callback) {
		return &callback.Failure
	}
	failure := &abi.Error{Kind: abi.ErrorArbitrary, Message: legible.Clip(e.err.Error(), maxFailure), Type: "GuestError"}
	if errors.Is(e.err, abi.ErrNoRoom) {
		failure.Kind, failure.Delay = abi.ErrorTemporary, abi.DelayOf(noRoomDelay)
	}
	var detailed interface{ GuestStack() string }
	if errors.As(e.err, &detailed) {
		failure.Stack = detailed.GuestStack()
	}
	return failure
}

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
	Task      guests.Task    // nil if the handler could not be started
	env       *Env           // of the task
	declared  int            // number of sub-handlers so far
	patched   abi.Raw        // what of the handler's patch the cycle has already; nil: nothing
	answered  int            // bytes of the current answer in the account
	kept      bool           // the patch keeps the task, which has transformations left
	cancelled bool           // the task was asked to end
	underway  *underway      // the request whose answer the guest has not received; nil: none
	counted   *meters.Series // the call counts here until it is closed; nil: nowhere
	began     time.Time
	span      *tracing.Span // of the call; nil: it is not traced
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
	return talk, step, nil
}

// Close releases the task, unless the patch keeps it.
func (t *Conversation) Close(ctx context.Context) {
	t.measured()
	t.abandon()
	t.delivered()
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
	return step, nil
}

// delivered gives back the memory of an answer that the guest has, or will never get.
func (t *Conversation) delivered() {
	t.Cause.Account.Give(accounts.Answers, t.answered)
	t.answered = 0
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

// finish applies the outcome of the last step.
func (t *Conversation) finish(ctx context.Context, step *abi.Step) error {
	var result any
	var err error
	t.Cause.Work(ctx, len(step.Result)+len(step.Patch), func() { result, err = t.take(step) })
	if err != nil {
		return err
	}
	if step.Error != nil && step.Error.Kind == abi.ErrorChildren && t.error == nil {
		step.Error = &abi.Error{
			Kind: abi.ErrorArbitrary, Type: "ErrChildrenPending",
			Message: "the handler says that its children are pending, but they are not",
		}
	}
	t.warnings = step.Warnings
	if t.Handler.Spec.Kind == abi.KindStartup { // others change no settings, whatever they return
		t.settings = step.Settings
	}
	if t.error = step.Error; t.error != nil {
		return nil
	}
	if len(step.Children) > 0 {
		if err := t.runChildren(ctx, step.Children, step.Lifecycle); err != nil || t.error != nil {
			return err
		}
	}
	t.keyed, t.result, t.size = step.Keyed, result, len(step.Result)
	return nil
}

// take counts what the handler returned, adds its patch to that of the cycle, and decodes the result of a success.
func (t *Conversation) take(step *abi.Step) (result any, err error) {
	if err := t.Cause.Patch.ChargeReturned(t.Cause.Account, sizeOf(&step.Outcome)); err != nil {
		return nil, &guestError{fmt.Errorf("the result of %s: %w", loggers.Quote(t.Handler.ID), err)}
	}
	if err := t.takePatch(step); err != nil || step.Error != nil {
		return nil, err
	}
	return t.decodeResult(step.Result)
}

// What a warning and a setting take in addition to their texts, in bytes.
const (
	warningSize = 16
	settingSize = 128
)

// sizeOf returns the memory of a handler's result, in bytes. What is decoded takes more than its text.
func sizeOf(o *abi.Outcome) int {
	size := dicts.Heap(o.Result) + dicts.Heap(o.Patch)
	if o.Error != nil {
		size += len(o.Error.Message) + len(o.Error.Stack)
	}
	for _, warning := range o.Warnings {
		size += len(warning) + warningSize
	}
	for name, value := range o.Settings {
		size += settingSize + len(name) + len(value)
	}
	return size
}

// takeEarly adds the patch of a handler that has not ended to that of the cycle: sub-handlers that run now come later.
func (t *Conversation) takeEarly(ctx context.Context, step *abi.Step) error {
	if step.Patch.IsNull() {
		return nil
	}
	if err := t.Cause.Patch.ChargeReturned(t.Cause.Account, dicts.Heap(step.Patch)+len(step.Patch)); err != nil {
		return &guestError{fmt.Errorf("the patch of %s: %w", loggers.Quote(t.Handler.ID), err)}
	}
	var err error
	t.Cause.Work(ctx, len(step.Patch), func() { err = t.takeChanges(step.Patch) })
	t.patched = bytes.Clone(step.Patch)
	return err
}

// takePatch adds the patch of the handler to the patch of the cycle.
func (t *Conversation) takePatch(step *abi.Step) error {
	if !step.Patch.IsNull() {
		if err := t.takeChanges(step.Patch); err != nil {
			return err
		}
	}
	if step.Transforms > 0 {
		t.kept = true
		t.Cause.Patch.Add(patching.ByTask(t.Task, t.Cause.Account, t.Cause.Work))
	}
	return nil
}

// takeChanges adds a patch of the handler to that of the cycle, without what an earlier step has added: sub-handlers may have
// changed that since.
func (t *Conversation) takeChanges(patch abi.Raw) error {
	merge, err := dicts.DecodeObject(patch)
	if err != nil {
		return &guestError{fmt.Errorf("%w: the patch of %s: %w", abi.ErrGuest, loggers.Quote(t.Handler.ID), err)}
	}
	if t.patched != nil {
		former, err := dicts.DecodeObject(t.patched)
		if err != nil {
			return err
		}
		withoutKnown(merge, former)
	}
	t.Cause.Patch.Merge.Merge(merge)
	return nil
}

// withoutKnown removes what an earlier patch has, too.
func withoutKnown(patch, former dicts.Object) {
	for key, value := range patch {
		was, known := former[key]
		part, isObject := value.(dicts.Object)
		earlier, wasObject := was.(dicts.Object)
		switch {
		case isObject && wasObject:
			if withoutKnown(part, earlier); len(part) == 0 {
				delete(patch, key)
			}
		case known && bytes.Equal(dicts.Encode(value), dicts.Encode(was)):
			delete(patch, key)
		}
	}
}

func (t *Conversation) decodeResult(text abi.Raw) (result any, err error) {
	if text.IsNull() {
		return nil, nil
	}
	if result, err = dicts.Decode(text); err != nil {
		return nil, &guestError{fmt.Errorf("%w: the result of %s: %w", abi.ErrGuest, loggers.Quote(t.Handler.ID), err)}
	}
	return result, nil
}

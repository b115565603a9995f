package handling

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/internal/legible"
	"github.com/kopf-wasm/kopf/reactor/filters"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/patching"
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

// finish applies the outcome of the last step.
func (t *Conversation) finish(ctx context.Context, step *abi.Step) error {
	t.taken()
	if err := t.Cause.Patch.ChargeReturned(t.Cause.Account, textOf(step)); err != nil {
		return t.tooLarge("result", err)
	}
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
	if err := t.Cause.Patch.ChargeReturned(t.Cause.Account, decodedSize(&step.Outcome)); err != nil {
		return nil, t.tooLarge("result", err)
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

// textOf returns the memory of a step as the guest has sent it, in bytes. It counts before anything waits for a turn to be decoded.
func textOf(s *abi.Step) int {
	size := len(s.Result) + len(s.Patch) + len(s.Lifecycle)
	if s.Error != nil {
		size += len(s.Error.Message) + len(s.Error.Stack)
	}
	for _, warning := range s.Warnings {
		size += len(warning) + warningSize
	}
	for name, value := range s.Settings {
		size += settingSize + len(name) + len(value)
	}
	for i := range s.Children {
		size += textsOf(&s.Children[i], func(value []byte) int { return len(value) })
	}
	return size
}

// decodedSize returns what the values of an outcome take in addition to their texts when they are decoded, in bytes.
func decodedSize(o *abi.Outcome) int {
	return dicts.Heap(o.Result) + dicts.Heap(o.Patch) - len(o.Result) - len(o.Patch)
}

// tooLarge is the error of a handler whose step does not fit into the account.
func (t *Conversation) tooLarge(what string, err error) error {
	return &guestError{fmt.Errorf("the %s of %s: %w", what, loggers.Quote(t.Handler.ID), err)}
}

// takeEarly adds the patch of a handler that has not ended to that of the cycle: sub-handlers that run now come later.
func (t *Conversation) takeEarly(ctx context.Context, step *abi.Step) error {
	if step.Patch.IsNull() || t.Cause.Change() == nil { // others have no sub-handlers, as runChildren says
		return nil
	}
	t.taken()
	if err := t.Cause.Patch.ChargeReturned(t.Cause.Account, dicts.Heap(step.Patch)+textOf(step)); err != nil {
		return t.tooLarge("patch", err)
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

package handling

import (
	"context"
	"errors"
	"fmt"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/memos"
	"github.com/kopf-wasm/kopf/reactor/posting"
)

// Env answers the host functions of one call.
type Env struct {
	Cause *Cause

	kept   int           // bytes of the segment that the host keeps for the task, in the account
	keptAs accounts.Kind // of them
}

var _ guests.Env = (*Env)(nil)

// Log writes a message of a handler.
func (e *Env) Log(level int, message string) { e.Cause.Log.At(level, message) }

// Segment encodes data that most handlers never read.
func (e *Env) Segment(tag uint32) []byte {
	c := e.Cause
	if c.Kind != nil {
		if value, known := c.Kind.Segment(c.Object, tag); known {
			return value
		}
	}
	if tag == abi.TagBody || tag == abi.TagFresh {
		return c.Raw
	}
	return nil
}

// Keep counts the segment that the host keeps for the task. The body is counted anyway. A diff can be a thousand times as
// large as the object, because it has the whole path of each change, and the guest need not take it.
func (e *Env) Keep(tag uint32, bytes int) error {
	if tag == abi.TagBody || tag == abi.TagFresh {
		bytes = 0
	}
	if e.Cause.Services == nil {
		return nil
	}
	e.Cause.Account.Give(e.keptAs, e.kept)
	e.kept, e.keptAs = 0, accounts.Pending
	if tag == abi.TagAnswer {
		e.keptAs = accounts.Answers
	}
	if err := e.Cause.Account.Take(e.keptAs, bytes); err != nil {
		return fmt.Errorf("a part of the invocation: %w", err)
	}
	e.kept = bytes
	return nil
}

// forget gives back what Keep has counted. A nil Env has counted nothing.
func (e *Env) forget() {
	if e != nil {
		_ = e.Keep(0, 0) // giving back is never refused
	}
}

func encodeUnlessNil(value any) []byte {
	if value == nil {
		return nil
	}
	return dicts.Encode(value)
}

// rawEvent returns the watch event in Kopf's form.
func (o *Object) rawEvent() []byte {
	kind := []byte("null")
	if o.EventType != nil {
		kind = fmt.Appendf(nil, "%q", *o.EventType)
	}
	return fmt.Appendf(nil, `{"type":%s,"object":%s}`, kind, o.Raw)
}

// Stopped returns why a daemon or a timer must end.
func (e *Env) Stopped() int {
	if s := e.Cause.Stopper(); s != nil {
		return s.Bits()
	}
	return 0
}

// Waits reports that a daemon waits, to those that wait for it to begin.
func (e *Env) Waits() {
	if s := e.Cause.Stopper(); s != nil {
		s.Waits()
	}
}

// Event posts an event about the handled object, or about the given one.
func (e *Env) Event(event abi.Event) error {
	handled := e.Cause.Log.Ref
	ref := handled
	if !event.Object.IsNull() {
		object, err := dicts.DecodeObject(event.Object)
		if err != nil {
			return fmt.Errorf("the object of an event: %w", err)
		}
		ref = posting.RefOf(object)
	}
	if e.Cause.Events == nil {
		return fmt.Errorf("events cannot be posted here")
	}
	if ref != handled || ref == (posting.Ref{}) {
		if err := e.mayPost(e.Cause.Events.NamespaceOf(ref)); err != nil {
			e.Cause.Events.Refused(e.Cause.Log, err)
			return err
		}
	}
	return e.Cause.Events.Explicit(ref, event)
}

// mayPost returns an error unless events about objects other than the handled one may be
// posted in a namespace. The operator must serve the namespace, or a grant must allow it.
//
// Errors: abi.ErrDenied; an invalid namespace.
func (e *Env) mayPost(namespace string) error {
	if err := apipath.CheckNamespace(namespace); err != nil {
		return err
	}
	if e.Cause.Caller == nil {
		return abi.ErrDenied
	}
	if err := e.Cause.Caller.AllowsEvents(namespace); err != nil {
		return fmt.Errorf("%w: %w", abi.ErrDenied, err)
	}
	return nil
}

// Call makes a request, as the step with this name does. It ends early if the daemon is
// cancelled meanwhile. Later requests are those of the clean-up.
func (e *Env) Call(ctx context.Context, call *abi.Call) abi.Answer {
	if e.Cause.Caller == nil {
		return noRequests()
	}
	e.Cause.yield(ctx)
	calling, abandon := context.WithCancel(ctx)
	defer abandon()
	if s := e.Cause.Stopper(); s != nil {
		if watch := s.Await(nil, abi.StopDaemonCancelled, abandon); watch != nil {
			defer s.Forget(watch)
		}
	}
	answer, held := e.Cause.exchange(calling, call)
	if held > 0 {
		context.AfterFunc(ctx, func() { e.Cause.Account.Give(accounts.Answers, held) })
	}
	return answer
}

// MemoGet reads a value of the object's memo or the operator's memo.
func (e *Env) MemoGet(scope int, key string) ([]byte, uint64, bool) {
	return e.memo(scope).Get(key)
}

// MemoSet changes a value of the object's memo or the operator's memo.
func (e *Env) MemoSet(scope int, key string, value []byte, version int64) (uint64, error) {
	return e.memo(scope).Set(e.Cause.Account, key, value, version)
}

func (e *Env) memo(scope int) *memos.Memo {
	if scope == 0 && e.Cause.Memo != nil {
		return e.Cause.Memo
	}
	return e.Cause.Base
}

// Index looks up an index of the operator.
func (e *Env) Index(op int, name string, key []byte) ([]byte, error) {
	found, err := e.Cause.Indices.Look(name, op, key)
	if errors.Is(err, indexing.ErrAbsent) {
		return nil, abi.ErrAbsent
	}
	return found, err
}

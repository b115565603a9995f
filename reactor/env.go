package reactor

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/posting"
)

// env answers the short questions of one call.
type env struct {
	cause *cause
}

var _ Env = (*env)(nil)

// Log writes a message of a handler.
func (e *env) Log(level int, message string) { e.cause.log.at(level, message) }

// Segment encodes what most handlers never look at.
func (e *env) Segment(tag uint32) []byte {
	c := e.cause
	if c.kind != nil {
		if value, known := c.kind.segment(c.object, tag); known {
			return value
		}
	}
	if tag == abi.TagBody || tag == abi.TagFresh {
		return c.raw
	}
	return nil
}

func encodeUnlessNil(value any) []byte {
	if value == nil {
		return nil
	}
	return dicts.Encode(value)
}

// rawEvent is the watch event as the reference shows it.
func (o *object) rawEvent() []byte {
	kind := []byte("null")
	if o.eventType != nil {
		kind = fmt.Appendf(nil, "%q", *o.eventType)
	}
	return fmt.Appendf(nil, `{"type":%s,"object":%s}`, kind, o.raw)
}

// Stopped tells a daemon or a timer why it is to end.
func (e *env) Stopped() int {
	if s := e.cause.stopper(); s != nil {
		return s.bits()
	}
	return 0
}

// Waits tells those who wait for a daemon to begin that it waits itself.
func (e *env) Waits() {
	if s := e.cause.stopper(); s != nil {
		s.waits()
	}
}

// Event posts an event about an object: the handled one, or the given one.
func (e *env) Event(event abi.Event) error {
	handled := e.cause.log.ref
	ref := handled
	if !event.Object.IsNull() {
		object, err := dicts.DecodeObject(event.Object)
		if err != nil {
			return fmt.Errorf("the object of an event: %w", err)
		}
		ref = posting.RefOf(object)
	}
	if e.cause.events == nil {
		return fmt.Errorf("events cannot be posted here")
	}
	if ref != handled || ref == (posting.Ref{}) {
		if err := e.mayPost(e.cause.events.namespaceOf(ref)); err != nil {
			e.cause.events.refused(e.cause.log, err)
			return err
		}
	}
	return e.cause.events.explicit(ref, event)
}

// mayPost tells whether events about other objects than the handled one may be posted in a
// namespace: if the operator serves it, or has a grant.
//
// Errors: abi.ErrDenied, and a namespace that is none.
func (e *env) mayPost(namespace string) error {
	if err := apipath.CheckNamespace(namespace); err != nil {
		return err
	}
	if e.cause.caller == nil {
		return abi.ErrDenied
	}
	if err := e.cause.caller.AllowsEvents(namespace); err != nil {
		return fmt.Errorf("%w: %w", abi.ErrDenied, err)
	}
	return nil
}

// Call makes a request, as the step of the same name does.
func (e *env) Call(ctx context.Context, call *abi.Call) abi.Answer {
	if e.cause.caller == nil {
		return noRequests()
	}
	e.cause.yield(ctx)
	return e.cause.caller.Call(ctx, call, e.cause.readOnly)
}

// MemoGet reads the object's memo, or the operator's.
func (e *env) MemoGet(scope int, key string) ([]byte, uint64, bool) {
	return e.memo(scope).get(key)
}

// MemoSet changes the object's memo, or the operator's.
func (e *env) MemoSet(scope int, key string, value []byte, version int64) (uint64, error) {
	return e.memo(scope).set(e.cause.account, key, value, version)
}

func (e *env) memo(scope int) *memo {
	if scope == 0 && e.cause.memo != nil {
		return e.cause.memo
	}
	return e.cause.base
}

// Index looks into an index of the operator.
func (e *env) Index(op int, name string, key []byte) ([]byte, error) {
	found, err := e.cause.indices.Look(name, op, key)
	if errors.Is(err, indexing.ErrAbsent) {
		return nil, abi.ErrAbsent
	}
	return found, err
}

// mergeSettings adds the settings of one startup handler to those before it.
func mergeSettings(all, more map[string]abi.Raw) map[string]abi.Raw {
	if all == nil {
		all = map[string]abi.Raw{}
	}
	maps.Copy(all, more)
	return all
}

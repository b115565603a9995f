package handling

import (
	"context"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/calls"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/diffs"
	"github.com/kopf-wasm/kopf/reactor/events"
	"github.com/kopf-wasm/kopf/reactor/filters"
	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/memos"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/stoppers"
)

// Services are what handlers may use of their operator, whatever they are called for. One
// generation of handlers has one of them.
type Services struct {
	Base    *memos.Memo       // of the operator
	Account *accounts.Account // of the operator; nil: no limits
	Events  *events.Recorder  // nil: events cannot be posted
	Indices *indexing.Indices // nil: there are none
	Caller  *calls.Caller     // nil: requests cannot be made
}

// Object is what all causes of one object have in common in one cycle. Causes that belong
// to no object have an empty one.
//
// Kopf: kopf._core.intents.causes.ResourceCause (v1.45).
type Object struct {
	*Services
	Resource  *selectors.Resource // nil: there is no object
	EventType *string             // of the watch event; nil in the initial listing, and where there is no event
	Raw       []byte              // the body as it came; nil: see Daemon
	Body      dicts.Object        // the parts of it that the host looks at
	Memo      *memos.Memo         // nil: that of the operator
	Patch     *patching.Patch
	Log       loggers.Logger
	Slot      Slot // nil: waiting gives nothing up
}

// Slot is the place of an object among those that are worked on. Handlers give it up while
// they wait: all other places belong to the worker of the queue alone.
type Slot interface {
	// Yield gives the place to another object: a handler waits inside of a host function.
	Yield(ctx context.Context)

	// Wait does the same, and lets the daemons begin that the cycle has made: a handler waits
	// between two steps.
	Wait(ctx context.Context)
}

// Quietly is the object for handlers that change nothing and log little.
func (o *Object) Quietly(p *patching.Patch) *Object {
	return &Object{o.Services, o.Resource, o.EventType, o.Raw, o.Body, o.Memo, p, o.Log.Terse(), o.Slot}
}

// Locally is the object for handlers whose log messages are not for the object.
func (o *Object) Locally() *Object {
	return &Object{o.Services, o.Resource, o.EventType, o.Raw, o.Body, o.Memo, o.Patch, o.Log.Local(), o.Slot}
}

// Alone is the object without its body, its event and its cycle: as a daemon or a timer
// takes it over.
func (o *Object) Alone() *Object {
	return &Object{Services: o.Services, Resource: o.Resource, Memo: o.Memo, Log: o.Log}
}

// With is the object with another body and a patch of its own.
func (o *Object) With(raw []byte, body dicts.Object, p *patching.Patch) *Object {
	return &Object{o.Services, o.Resource, o.EventType, raw, body, o.Memo, p, o.Log, o.Slot}
}

// Target is the object for its patches.
func (o *Object) Target() patching.Target {
	return patching.Target{Resource: *o.Resource, Raw: o.Raw, Body: o.Body, Log: o.Log}
}

// Deleted tells whether the object is being deleted.
func (o *Object) Deleted() bool { return causes.DeletionOngoing(o.Body) }

// Cause is why handlers are called: an object, and what has happened to it.
//
// Kopf: kopf._core.intents.causes (v1.45).
type Cause struct {
	*Object
	Kind     Kind                // nil: nothing is known but the object
	readOnly string              // why requests of the guest must not write; empty if they may
	verdicts map[verdictKey]bool // of filters that were asked for this cause
}

// Kind is what has happened to an object, or to the operator.
type Kind interface {
	// Kwargs fills in what only handlers of this kind get.
	Kwargs(inv *abi.Invocation)

	// Segment encodes what most handlers never look at; known is false if the kind adds
	// nothing to what the object has.
	Segment(o *Object, tag uint32) (value []byte, known bool)
}

func NewCause(o *Object, k Kind) *Cause { return &Cause{Object: o, Kind: k} }

// Change is a change of an object. Old and new are essences, or values of the field of the
// handler.
//
// Kopf: kopf._core.intents.causes.ChangingCause (v1.45).
type Change struct {
	Reason   causes.Reason
	Initial  bool
	Old, New any
	Diff     diffs.Diff
	field    []string
}

func (k *Change) Kwargs(inv *abi.Invocation) { inv.Reason, inv.Field = string(k.Reason), k.field }

func (k *Change) Segment(_ *Object, tag uint32) ([]byte, bool) {
	switch tag {
	case abi.TagOld:
		return encodeUnlessNil(k.Old), true
	case abi.TagNew:
		return encodeUnlessNil(k.New), true
	case abi.TagDiff:
		return dicts.Encode(k.Diff.JSON()), true
	}
	return nil, false
}

// narrowed is the change as a handler of a field sees it.
func (k *Change) narrowed(field []string) *Change {
	path := dicts.Path(field)
	own := &Change{Reason: k.Reason, Initial: k.Initial, Diff: diffs.Reduce(k.Diff, path), field: field}
	own.Old, _ = dicts.Lookup(k.Old, path...)
	own.New, _ = dicts.Lookup(k.New, path...)
	return own
}

// RawEvent is an event of a watch, whatever it says of the object.
//
// Kopf: kopf._core.intents.causes.WatchingCause (v1.45).
type RawEvent struct{}

func (RawEvent) Kwargs(*abi.Invocation) {}

func (RawEvent) Segment(o *Object, tag uint32) ([]byte, bool) {
	return o.rawEvent(), tag == abi.TagEvent
}

// Daemon is the life of a daemon or a timer beside an object.
//
// Kopf: kopf._core.intents.causes.DaemonCause (v1.45).
type Daemon struct {
	Stopper *stoppers.Stopper
	Live    func() []byte // the newest body; nil: nothing is known of it
}

func (*Daemon) Kwargs(*abi.Invocation) {}

// Segment has the newest body. The own body of a daemon that has waited is nil.
func (k *Daemon) Segment(o *Object, tag uint32) ([]byte, bool) {
	if tag != abi.TagFresh && (tag != abi.TagBody || o.Raw != nil) {
		return nil, false
	}
	if live := k.Live(); live != nil {
		return live, true
	}
	return o.Raw, true
}

// Activity is something in the life of an operator: it belongs to no object.
//
// Kopf: kopf._core.intents.causes.ActivityCause (v1.45).
type Activity struct {
	Name     string            // the kwarg activity; empty for background handlers
	Settings abi.Raw           // as they are now
	Logins   []string          // of the host; for login handlers
	Stopper  *stoppers.Stopper // of background handlers; nil otherwise
}

func (k *Activity) Kwargs(inv *abi.Invocation) {
	inv.Activity, inv.Settings, inv.Logins = k.Name, k.Settings, k.Logins
}

func (*Activity) Segment(*Object, uint32) ([]byte, bool) { return nil, false }

// Change is what has changed; nil if the cause is no change.
func (c *Cause) Change() *Change {
	k, _ := c.Kind.(*Change)
	return k
}

// Stopper tells the handler to end; nil if nothing does.
func (c *Cause) Stopper() *stoppers.Stopper {
	switch k := c.Kind.(type) {
	case *Daemon:
		return k.Stopper
	case *Activity:
		return k.Stopper
	}
	return nil
}

// forHandler is the cause as a handler sees it: with a field, old, new and diff are those
// of the field; a kind may forbid it to write.
func (c *Cause) forHandler(h *registries.Handler) *Cause {
	if k, ok := c.Kind.(interface {
		ReadOnly(h *registries.Handler) string
	}); ok {
		return &Cause{Object: c.Object, Kind: c.Kind, readOnly: k.ReadOnly(h), verdicts: c.verdicts}
	}
	if k := c.Change(); k != nil && len(h.Spec.Field) > 0 {
		return &Cause{Object: c.Object, Kind: k.narrowed(h.Spec.Field), readOnly: c.readOnly}
	}
	return c
}

// subject is what filters look at.
func (c *Cause) subject() filters.Subject {
	if k := c.Change(); k != nil {
		return filters.Subject{Body: c.Body, Old: k.Old, New: k.New, Changing: true}
	}
	return filters.Subject{Body: c.Body}
}

// invocation fills in the kwargs that come from the cause.
func (c *Cause) invocation() abi.Invocation {
	inv := abi.Invocation{
		Name:      dicts.LookupString(c.Body, "metadata", "name"),
		Namespace: dicts.LookupString(c.Body, "metadata", "namespace"),
		UID:       dicts.LookupString(c.Body, "metadata", "uid"),
		EventType: c.EventType,
		Indices:   c.Indices.Names(),
	}
	if c.Resource != nil {
		inv.Resource = c.Resource.Info()
	}
	if c.Kind != nil {
		c.Kind.Kwargs(&inv)
	}
	return inv
}

// yield gives up the slot inside of a host function.
func (c *Cause) yield(ctx context.Context) {
	if c.Slot != nil {
		c.Slot.Yield(ctx)
	}
}

// wait gives up the slot between two steps.
func (c *Cause) wait(ctx context.Context) {
	if c.Slot != nil {
		c.Slot.Wait(ctx)
	}
}

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
	"github.com/kopf-wasm/kopf/reactor/meters"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/stoppers"
	"github.com/kopf-wasm/kopf/reactor/tracing"
)

// Services are what handlers of any kind may use of their operator. Each generation of
// handlers has its own Services.
type Services struct {
	Base    *memos.Memo       // the operator's memo
	Account *accounts.Account // the operator's account; nil: no limits
	Events  *events.Recorder  // nil: handlers cannot post events
	Indices *indexing.Indices // nil: no indices exist
	Caller  *calls.Caller     // nil: handlers cannot make requests
	Tally   *Tally            // nil: nothing counts calls
	Meters  *meters.Handlers  // nil: nothing measures calls
	Tracer  tracing.Tracer    // nil: nothing is traced
	Compute Compute           // nil: what the host computes for handlers does not count
}

// Compute runs a function that only computes, when the operator may compute. See host.Share.
type Compute func(ctx context.Context, do func())

// leastWork is the size of a text from which on decoding or comparing it is a part of the computing time of the operator, in
// bytes. The call of a handler costs more than smaller ones.
const leastWork = 4 << 10

// Work runs a function of the host that only computes, for texts of a size that handlers or their objects cause.
func (s *Services) Work(ctx context.Context, size int, do func()) {
	if s == nil || s.Compute == nil || size < leastWork {
		do()
		return
	}
	s.Compute(ctx, do)
}

// Object is what all causes of one object share in one cycle. Causes that belong to no
// object have an empty Object.
//
// Kopf: kopf._core.intents.causes.ResourceCause (v1.45).
type Object struct {
	*Services
	Resource  *selectors.Resource // nil: no object
	EventType *string             // type of the watch event; nil in the initial listing, and without an event
	Raw       []byte              // the body as received; nil: see Daemon
	Body      dicts.Object        // the parts of the body that the host reads
	Memo      *memos.Memo         // nil: the operator's memo
	Patch     *patching.Patch
	Log       loggers.Logger
	Slot      Slot // nil: waiting releases no slot
}

// Slot is the slot of an object among the limited slots of workers. Handlers release it
// while they wait. Only the worker of the queue takes slots.
type Slot interface {
	// Yield releases the slot because a handler waits inside a host function.
	Yield(ctx context.Context)

	// Wait releases the slot because a handler waits between two steps. It also starts the
	// daemons that the cycle has created.
	Wait(ctx context.Context)
}

// Quietly returns the object for handlers that change nothing and log little.
func (o *Object) Quietly(p *patching.Patch) *Object {
	own := *o
	own.Patch, own.Log = p, o.Log.Terse()
	return &own
}

// Locally returns the object for handlers whose log messages are not posted as events.
func (o *Object) Locally() *Object {
	own := *o
	own.Log = o.Log.Local()
	return &own
}

// Alone returns the object without its body, its event and its cycle, for a daemon or a
// timer to keep.
func (o *Object) Alone() *Object {
	return &Object{Services: o.Services, Resource: o.Resource, Memo: o.Memo, Log: o.Log.Apart()}
}

// With returns the object with another body and its own patch.
func (o *Object) With(raw []byte, body dicts.Object, p *patching.Patch) *Object {
	own := *o
	own.Raw, own.Body, own.Patch = raw, body, p
	return &own
}

// Target returns the target of the object's patches.
func (o *Object) Target() patching.Target {
	return patching.Target{Resource: o.Resource, Raw: o.Raw, Body: o.Body, Log: o.Log, Work: o.Services.Work}
}

// Deleted reports whether the object is being deleted.
func (o *Object) Deleted() bool { return causes.DeletionOngoing(o.Body) }

// Cause is why handlers are called: an object, and what has happened to it.
//
// Kopf: kopf._core.intents.causes (v1.45).
type Cause struct {
	*Object
	Kind     Kind                // nil: only the object is known
	readOnly string              // why requests of the guest must not write; empty: they may
	verdicts map[verdictKey]bool // results of filters that were evaluated for this cause
}

// Kind is what has happened to an object, or to the operator.
type Kind interface {
	// Kwargs sets the kwargs that only handlers of this kind get.
	Kwargs(inv *abi.Invocation)

	// Segment encodes data that most handlers never read. Known is false if the kind adds
	// nothing to the data of the object.
	Segment(o *Object, tag uint32) (value []byte, known bool)
}

// restricted is a Kind that may forbid handlers to write.
type restricted interface {
	// ReadOnly returns why requests of a handler must not write; empty: they may.
	ReadOnly(h *registries.Handler) string
}

// NewCause makes the cause of a kind for an object.
func NewCause(o *Object, k Kind) *Cause { return &Cause{Object: o, Kind: k} }

// Change is a change of an object. Old and new are essences, or values of the handler's
// field.
//
// Kopf: kopf._core.intents.causes.ChangingCause (v1.45).
type Change struct {
	Reason   causes.Reason
	Initial  bool
	Old, New any
	Diff     diffs.Diff
	field    []string
}

// Kwargs sets the reason and the field.
func (k *Change) Kwargs(inv *abi.Invocation) { inv.Reason, inv.Field = string(k.Reason), k.field }

// Segment encodes the old and new state and their diff.
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

// narrowed returns the change of one field.
func (k *Change) narrowed(field []string) *Change {
	path := dicts.Path(field)
	own := &Change{Reason: k.Reason, Initial: k.Initial, Diff: diffs.Reduce(k.Diff, path), field: field}
	own.Old, _ = dicts.Lookup(k.Old, path...)
	own.New, _ = dicts.Lookup(k.New, path...)
	return own
}

// RawEvent is an event of a watch, regardless of what it means for the object.
//
// Kopf: kopf._core.intents.causes.WatchingCause (v1.45).
type RawEvent struct{}

// Kwargs sets nothing: the event is a segment.
func (RawEvent) Kwargs(*abi.Invocation) {}

// Segment encodes the watch event.
func (RawEvent) Segment(o *Object, tag uint32) ([]byte, bool) {
	return o.rawEvent(), tag == abi.TagEvent
}

// Daemon is the life of an object's daemon or timer.
//
// Kopf: kopf._core.intents.causes.DaemonCause (v1.45).
type Daemon struct {
	Stopper *stoppers.Stopper
	Live    func() []byte // returns the newest body; nil: none is known
}

// Kwargs sets nothing: daemons and timers get no kwargs of their own here.
func (*Daemon) Kwargs(*abi.Invocation) {}

// Segment returns the newest body. The body in the Object of a daemon that has waited is
// nil.
func (k *Daemon) Segment(o *Object, tag uint32) ([]byte, bool) {
	if tag != abi.TagFresh && (tag != abi.TagBody || o.Raw != nil) {
		return nil, false
	}
	if live := k.Live(); live != nil {
		return live, true
	}
	return o.Raw, true
}

// Activity is an event in the life of an operator. It belongs to no object.
//
// Kopf: kopf._core.intents.causes.ActivityCause (v1.45).
type Activity struct {
	Name     string            // the kwarg activity; empty for background handlers
	Settings abi.Raw           // the current settings
	Logins   []string          // the host's logins, for login handlers
	Stopper  *stoppers.Stopper // for background handlers; nil otherwise
}

// Kwargs sets the kwargs of an activity.
func (k *Activity) Kwargs(inv *abi.Invocation) {
	inv.Activity, inv.Settings, inv.Logins = k.Name, k.Settings, k.Logins
}

// Segment adds nothing.
func (*Activity) Segment(*Object, uint32) ([]byte, bool) { return nil, false }

// Change returns the change; nil if the cause is of another kind.
func (c *Cause) Change() *Change {
	k, _ := c.Kind.(*Change)
	return k
}

// Stopper returns the stopper of the handler; nil if it has none.
func (c *Cause) Stopper() *stoppers.Stopper {
	switch k := c.Kind.(type) {
	case *Daemon:
		return k.Stopper
	case *Activity:
		return k.Stopper
	}
	return nil
}

// forHandler returns the cause as a handler sees it. If the handler has a field, old, new
// and diff are those of the field. The kind may forbid the handler to write.
func (c *Cause) forHandler(ctx context.Context, h *registries.Handler) *Cause {
	if k, ok := c.Kind.(restricted); ok {
		return &Cause{Object: c.Object, Kind: c.Kind, readOnly: k.ReadOnly(h), verdicts: c.verdicts}
	}
	k, own := c.Change(), c
	if k == nil {
		fold(c)
		return c
	}
	c.Work(ctx, len(c.Raw), func() {
		if len(h.Spec.Field) > 0 {
			own = &Cause{Object: c.Object, Kind: k.narrowed(h.Spec.Field), readOnly: c.readOnly}
			fold(own)
		}
		fold(c) // what the field was found in, too
	})
	return own
}

// leastFolded is the size of an object whose decoded values are worth a text, in bytes: those of smaller ones take no more than the
// goroutine that waits with them.
const leastFolded = 1 << 10

// fold leaves only texts of what filters and differences have decoded, unless the object is small: handlers may run or wait for long,
// most need the text only, and the account counts nothing else.
func fold(c *Cause) {
	if len(c.Raw) < leastFolded {
		return
	}
	dicts.Shut(c.Body)
	if k := c.Change(); k != nil {
		k.fold()
	}
}

// fold is that of causes.
func (k *Change) fold() {
	if k.field != nil {
		k.Old, k.New = dicts.Folded(k.Old), dicts.Folded(k.New)
	} else {
		old, _ := k.Old.(dicts.Object)
		dicts.Fold(old)
		dicts.Shut(k.New)
	}
	for i := range k.Diff {
		if item := &k.Diff[i]; len(item.Path) > 0 {
			item.Old, item.New = dicts.Folded(item.Old), dicts.Folded(item.New)
		} else {
			item.Old, item.New = k.Old, k.New // they are equal
		}
	}
}

// subject returns what filters check.
func (c *Cause) subject() filters.Subject {
	if k := c.Change(); k != nil {
		return filters.Subject{Body: c.Body, Old: k.Old, New: k.New, Changing: true}
	}
	return filters.Subject{Body: c.Body}
}

// invocation returns the kwargs that come from the cause.
func (c *Cause) invocation() *abi.Invocation {
	inv := &abi.Invocation{
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
		c.Kind.Kwargs(inv)
	}
	return inv
}

// yield releases the slot inside a host function.
func (c *Cause) yield(ctx context.Context) {
	if c.Slot != nil {
		c.Slot.Yield(ctx)
	}
}

// wait releases the slot between two steps.
func (c *Cause) wait(ctx context.Context) {
	if c.Slot != nil {
		c.Slot.Wait(ctx)
	}
}

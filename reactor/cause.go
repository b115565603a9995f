package reactor

import (
	"context"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/calls"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/diffs"
	"github.com/kopf-wasm/kopf/reactor/filters"
	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// services are what handlers may use of their operator, whatever they are called for. One
// generation of handlers has one of them.
type services struct {
	base    *memo             // of the operator
	account *accounts.Account // of the operator; nil: no limits
	events  *events           // nil: events cannot be posted
	indices *indexing.Indices // nil: there are none
	caller  *calls.Caller     // nil: requests cannot be made
}

// object is what all causes of one object have in common in one cycle. Causes that belong
// to no object have an empty one.
//
// Kopf: kopf._core.intents.causes.ResourceCause (v1.45).
type object struct {
	*services
	resource  *selectors.Resource // nil: there is no object
	eventType *string             // of the watch event; nil in the initial listing, and where there is no event
	raw       []byte              // the body as it came; nil: see daemonKind
	body      dicts.Object        // the parts of it that the host looks at
	memo      *memo               // nil: that of the operator
	patch     *patch
	log       logger
	slot      slot // nil: waiting gives nothing up
}

// slot is the place of an object among those that are worked on. Handlers give it up while
// they wait: all other places belong to the worker of the queue alone.
type slot interface {
	// yield gives the place to another object: a handler waits inside of a host function.
	yield(ctx context.Context)

	// wait does the same, and lets begin what the cycle has spawned: a handler waits
	// between two steps.
	wait(ctx context.Context)
}

// quietly is the object for handlers that change nothing and log little.
func (o *object) quietly(p *patch) *object {
	return &object{o.services, o.resource, o.eventType, o.raw, o.body, o.memo, p, o.log.terse(), o.slot}
}

// locally is the object for handlers whose log messages are not for the object.
func (o *object) locally() *object {
	return &object{o.services, o.resource, o.eventType, o.raw, o.body, o.memo, o.patch, o.log.local(), o.slot}
}

// alone is the object without its body, its event and its cycle: as a daemon or a timer
// takes it over.
func (o *object) alone() *object {
	return &object{services: o.services, resource: o.resource, memo: o.memo, log: o.log}
}

// with is the object with another body and a patch of its own.
func (o *object) with(raw []byte, body dicts.Object, p *patch) *object {
	return &object{o.services, o.resource, o.eventType, raw, body, o.memo, p, o.log, o.slot}
}

// target is the object for its patches.
func (o *object) target() target {
	return target{resource: *o.resource, raw: o.raw, body: o.body, log: o.log}
}

// deleted tells whether the object is being deleted.
func (o *object) deleted() bool { return causes.DeletionOngoing(o.body) }

// cause is why handlers are called: an object, and what has happened to it.
//
// Kopf: kopf._core.intents.causes (v1.45).
type cause struct {
	*object
	kind     kind                // nil: nothing is known but the object
	readOnly string              // why requests of the guest must not write; empty if they may
	verdicts map[verdictKey]bool // of filters that were asked for this cause
}

// kind is what has happened to an object, or to the operator.
type kind interface {
	// kwargs fills in what only handlers of this kind get.
	kwargs(inv *abi.Invocation)

	// segment encodes what most handlers never look at; known is false if the kind adds
	// nothing to what the object has.
	segment(o *object, tag uint32) (value []byte, known bool)
}

func newCause(o *object, k kind) *cause { return &cause{object: o, kind: k} }

// change is a change of an object. Old and new are essences, or values of the field of the
// handler.
//
// Kopf: kopf._core.intents.causes.ChangingCause (v1.45).
type change struct {
	reason   causes.Reason
	initial  bool
	old, new any
	diff     diffs.Diff
	field    []string
}

func (k *change) kwargs(inv *abi.Invocation) { inv.Reason, inv.Field = string(k.reason), k.field }

func (k *change) segment(_ *object, tag uint32) ([]byte, bool) {
	switch tag {
	case abi.TagOld:
		return encodeUnlessNil(k.old), true
	case abi.TagNew:
		return encodeUnlessNil(k.new), true
	case abi.TagDiff:
		return dicts.Encode(k.diff.JSON()), true
	}
	return nil, false
}

// narrowed is the change as a handler of a field sees it.
func (k *change) narrowed(field []string) *change {
	path := dicts.Path(field)
	own := &change{reason: k.reason, initial: k.initial, diff: diffs.Reduce(k.diff, path), field: field}
	own.old, _ = dicts.Lookup(k.old, path...)
	own.new, _ = dicts.Lookup(k.new, path...)
	return own
}

// rawEvent is an event of a watch, whatever it says of the object.
//
// Kopf: kopf._core.intents.causes.WatchingCause (v1.45).
type rawEvent struct{}

func (rawEvent) kwargs(*abi.Invocation) {}

func (rawEvent) segment(o *object, tag uint32) ([]byte, bool) {
	return o.rawEvent(), tag == abi.TagEvent
}

// daemonKind is the life of a daemon or a timer beside an object.
//
// Kopf: kopf._core.intents.causes.DaemonCause (v1.45).
type daemonKind struct {
	stopper *stopper
	live    func() []byte // the newest body; nil: nothing is known of it
}

func (*daemonKind) kwargs(*abi.Invocation) {}

// segment has the newest body. The own body of a daemon that has waited is nil.
func (k *daemonKind) segment(o *object, tag uint32) ([]byte, bool) {
	if tag != abi.TagFresh && (tag != abi.TagBody || o.raw != nil) {
		return nil, false
	}
	if live := k.live(); live != nil {
		return live, true
	}
	return o.raw, true
}

// activityKind is something in the life of an operator: it belongs to no object.
//
// Kopf: kopf._core.intents.causes.ActivityCause (v1.45).
type activityKind struct {
	name     string   // the kwarg activity; empty for background handlers
	settings abi.Raw  // as they are now
	logins   []string // of the host; for login handlers
	stopper  *stopper // of background handlers; nil otherwise
}

func (k *activityKind) kwargs(inv *abi.Invocation) {
	inv.Activity, inv.Settings, inv.Logins = k.name, k.settings, k.logins
}

func (*activityKind) segment(*object, uint32) ([]byte, bool) { return nil, false }

// change is what has changed; nil if the cause is no change.
func (c *cause) change() *change {
	k, _ := c.kind.(*change)
	return k
}

// stopper tells the handler to end; nil if nothing does.
func (c *cause) stopper() *stopper {
	switch k := c.kind.(type) {
	case *daemonKind:
		return k.stopper
	case *activityKind:
		return k.stopper
	}
	return nil
}

// forHandler is the cause as a handler sees it: with a field, old, new and diff are those
// of the field; a kind may forbid it to write.
func (c *cause) forHandler(h *Handler) *cause {
	if k, ok := c.kind.(interface{ readOnly(h *Handler) string }); ok {
		return &cause{object: c.object, kind: c.kind, readOnly: k.readOnly(h), verdicts: c.verdicts}
	}
	if k := c.change(); k != nil && len(h.Spec.Field) > 0 {
		return &cause{object: c.object, kind: k.narrowed(h.Spec.Field), readOnly: c.readOnly}
	}
	return c
}

// subject is what filters look at.
func (c *cause) subject() filters.Subject {
	if k := c.change(); k != nil {
		return filters.Subject{Body: c.body, Old: k.old, New: k.new, Changing: true}
	}
	return filters.Subject{Body: c.body}
}

// invocation fills in the kwargs that come from the cause.
func (c *cause) invocation() abi.Invocation {
	inv := abi.Invocation{
		Name:      dicts.LookupString(c.body, "metadata", "name"),
		Namespace: dicts.LookupString(c.body, "metadata", "namespace"),
		UID:       dicts.LookupString(c.body, "metadata", "uid"),
		EventType: c.eventType,
		Indices:   c.indices.Names(),
	}
	if c.resource != nil {
		inv.Resource = c.resource.Info()
	}
	if c.kind != nil {
		c.kind.kwargs(&inv)
	}
	return inv
}

// yield gives up the slot inside of a host function.
func (c *cause) yield(ctx context.Context) {
	if c.slot != nil {
		c.slot.yield(ctx)
	}
}

// wait gives up the slot between two steps.
func (c *cause) wait(ctx context.Context) {
	if c.slot != nil {
		c.slot.wait(ctx)
	}
}

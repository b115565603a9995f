package reactor

import (
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

// cause is why handlers are called: what happened to one object, in one cycle.
//
// Kopf: kopf._core.intents.causes (v1.45).
type cause struct {
	resource *selectors.Resource // nil for activities
	queue    *queue              // of the object; nil in the background
	raw      []byte              // the body as it came
	body     dicts.Object        // the same, decoded
	memory   *memory
	base     *memo // of the operator
	account  *accounts.Account
	patch    *patch
	log      logger
	events   *events
	indices  *indexing.Indices
	caller   *calls.Caller
	readOnly string // why requests of the guest must not write; empty if they may

	generation *generation // which is held until the guests are not called any more; nil by then
	again      bool        // the object is looked at once more for other handlers: nothing has happened

	eventType *string // of the watch event; nil in the initial listing

	// For changes. old and new are essences, or values of the handler's field.
	changing bool
	reason   causes.Reason
	initial  bool
	old, new any
	diff     diffs.Diff
	field    []string

	spying     bool            // a raw event is handled
	stopper    *stopper        // of a daemon or a timer; nil otherwise
	review     *review         // of a request of the API server; nil otherwise
	conversion *abi.Conversion // a step of one; nil otherwise
	activity   string
	settings   abi.Raw
	logins     []string // of the host; for login handlers

	verdicts map[verdictKey]bool // of filters that were asked in this cycle
	spawned  *spawned            // the daemons and timers of this cycle; nil: there are none
	crowded  error               // why the body cannot be kept for daemons and timers; nil if it can
}

// adjusted is the cause as a handler sees it: with a field, old, new and diff are
// those of the field.
func (c *cause) adjusted(h *Handler) *cause {
	if c.review != nil {
		own := *c
		own.readOnly = c.review.readOnly(h)
		return &own
	}
	if len(h.Spec.Field) == 0 || !c.changing {
		return c
	}
	path := dicts.Path(h.Spec.Field)
	narrowed := *c
	narrowed.old, _ = dicts.Lookup(c.old, path...)
	narrowed.new, _ = dicts.Lookup(c.new, path...)
	narrowed.diff = diffs.Reduce(c.diff, path)
	narrowed.field = h.Spec.Field
	narrowed.verdicts = nil
	return &narrowed
}

// beside is what a daemon or a timer of the object takes over from the cycle that spawns
// it: nothing of the event, of the change, or of the queue.
func (c *cause) beside() *cause {
	return &cause{
		resource: c.resource, memory: c.memory, base: c.base, account: c.account, log: c.log, events: c.events, indices: c.indices, caller: c.caller,
		stopper: newStopper(),
	}
}

// leave releases the generation: no guest is called any more.
func (c *cause) leave() {
	c.generation.release()
	c.generation = nil
}

// deleted tells whether the object is being deleted.
func (c *cause) deleted() bool { return causes.DeletionOngoing(c.body) }

// subject is what filters look at.
func (c *cause) subject() filters.Subject {
	return filters.Subject{Body: c.body, Old: c.old, New: c.new, Changing: c.changing}
}

// invocation fills in the kwargs that come from the cause.
func (c *cause) invocation() abi.Invocation {
	inv := abi.Invocation{
		Name:      dicts.LookupString(c.body, "metadata", "name"),
		Namespace: dicts.LookupString(c.body, "metadata", "namespace"),
		UID:       dicts.LookupString(c.body, "metadata", "uid"),
		EventType: c.eventType,
		Field:     c.field,
		Activity:  c.activity,
		Settings:  c.settings,
		Logins:    c.logins,
		Indices:   c.indices.Names(),
	}
	if c.changing {
		inv.Reason = string(c.reason)
	}
	if c.review != nil {
		inv.Kind, inv.Admission = abi.KindValidate, c.review.kwargs()
	}
	inv.Conversion = c.conversion
	if c.resource != nil {
		inv.Resource = c.resource.Info()
	}
	return inv
}

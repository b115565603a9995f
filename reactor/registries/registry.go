// Package registries holds the handlers of an operator as their guests have registered
// them, sorted by purpose. It also binds selectors that are functions of a guest.
//
// Kopf: kopf._core.intents.registries, kopf._core.intents.handlers (v1.45).
package registries

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/filters"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/ids"
	"github.com/kopf-wasm/kopf/reactor/interests"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/meters"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// Handler is a declared handler, ready to be matched and called.
//
// Kopf: kopf._core.intents.handlers (v1.45).
type Handler struct {
	ID       string // the full id, with the field and the parent
	Spec     abi.Handler
	Selector *selectors.Selector // nil for activities and children
	Criteria filters.Criteria

	Starter guests.Starter  // the guest, or the task of the parent
	Asker   guests.Asker    // answers its open filters
	Fn      string          // identifies the function within the operator
	Index   int             // position of the declaration
	Depth   int             // number of parents
	Meter   *meters.Handler // counts its calls; nil: nothing does

	Reason            causes.Reason // empty: any
	Initial           bool          // for resuming
	requiresFinalizer bool
}

// Title returns the name of a handler for logs.
func (h *Handler) Title() string {
	switch h.Spec.Kind {
	case abi.KindStartup, abi.KindCleanup, abi.KindLogin, abi.KindProbe:
		return "Activity " + loggers.Quote(h.ID)
	case abi.KindIndex:
		return "Indexer " + loggers.Quote(h.ID)
	case abi.KindTimer:
		return "Timer " + loggers.Quote(h.ID)
	case abi.KindDaemon:
		return "Daemon " + loggers.Quote(h.ID)
	case abi.KindBackground:
		return "Background " + loggers.Quote(h.ID)
	case abi.KindValidate, abi.KindMutate, abi.KindConvert:
		return "Webhook " + loggers.Quote(h.ID)
	}
	return "Handler " + loggers.Quote(h.ID)
}

// IsFor reports whether a handler of changes is for a cause: for its reason or for any, and
// for resuming only if the object has not been resumed yet. Filters decide about the rest.
func (h *Handler) IsFor(c causes.Cause, deleted bool) bool {
	return (h.Reason == "" || h.Reason == c.Reason) &&
		(!h.Initial || c.Initial) &&
		(!h.Initial || !deleted || h.Spec.Deleted)
}

// Registry holds all handlers of an operator by purpose.
//
// Kopf: kopf._core.intents.registries (v1.45).
type Registry struct {
	Activities map[abi.Kind][]*Handler
	watching   []*Handler // raw events
	Changing   []*Handler // create, update, delete, resume, field
	spawning   []*Handler // daemons, timers
	Indexing   []*Handler
	Admission  []*Handler // validate, mutate
	Converting []*Handler
	Lifecycle  string // the default lifecycle

	Selections []*selection // selectors that are functions
}

// Clone returns a copy. Binding its handlers does not change those of the receiver.
func (r *Registry) Clone() *Registry {
	if r == nil {
		return &Registry{}
	}
	own := *r
	own.Activities = make(map[abi.Kind][]*Handler, len(r.Activities))
	for kind, list := range r.Activities {
		own.Activities[kind] = cloned(list)
	}
	for _, list := range []*[]*Handler{&own.watching, &own.Changing, &own.spawning, &own.Indexing, &own.Admission, &own.Converting} {
		*list = cloned(*list)
	}
	return &own
}

// cloned returns copies of handlers.
func cloned(handlers []*Handler) []*Handler {
	copies := slices.Clone(handlers)
	for i, h := range copies {
		own := *h
		copies[i] = &own
	}
	return copies
}

// Measure lets all handlers be counted. Their meters exist before the first call, so that the
// first failure is a change of a metric.
func (r *Registry) Measure(by *meters.Handlers) {
	for _, h := range slices.Concat(r.ForObjects(), slices.Concat(slices.Collect(maps.Values(r.Activities))...)) {
		h.Meter = by.Of(h.ID)
		reason := h.Spec.Kind
		if reason == abi.KindField {
			reason = abi.KindUpdate // the most frequent one
		}
		h.Meter.For(string(reason))
	}
}

// New collects the handlers of guests, in the order of the guests. It rejects unsupported
// kinds of handlers.
func New(all ...guests.Guest) (*Registry, error) {
	r := &Registry{Activities: map[abi.Kind][]*Handler{}}
	for n, guest := range all {
		registration := guest.Registration()
		for i, spec := range registration.Handlers {
			h, err := NewHandler(spec)
			if err != nil {
				return nil, fmt.Errorf("%s: handler %q: %w", guest.Name(), spec.ID, err)
			}
			h.Starter, h.Asker, h.Index = guest, guest, i
			h.Fn = fmt.Sprintf("%d/%s", n, cmp.Or(spec.Fn, fmt.Sprintf("#%d", i)))
			r.add(h)
		}
		r.Lifecycle = cmp.Or(r.Lifecycle, registration.Lifecycle)
	}
	return r, nil
}

// supported are the kinds of handlers that a registry accepts.
var supported = []abi.Kind{
	abi.KindCreate, abi.KindUpdate, abi.KindDelete, abi.KindResume, abi.KindField,
	abi.KindEvent, abi.KindTimer, abi.KindDaemon, abi.KindIndex, abi.KindStartup, abi.KindCleanup, abi.KindProbe, abi.KindLogin, abi.KindBackground,
	abi.KindValidate, abi.KindMutate, abi.KindConvert,
}

// NewHandler makes a handler of a guest from its declaration.
func NewHandler(spec abi.Handler) (*Handler, error) {
	if !slices.Contains(supported, spec.Kind) {
		return nil, fmt.Errorf("this version does not support handlers of the kind %q", spec.Kind)
	}
	criteria, err := filters.Parse(spec)
	if err != nil {
		return nil, err
	}
	h := &Handler{ID: ids.Registered(spec), Spec: spec, Criteria: criteria}
	if spec.Resource != nil {
		selector, err := selectors.Parse(*spec.Resource)
		if err != nil {
			return nil, err
		}
		h.Selector = &selector
	}
	switch spec.Kind {
	case abi.KindCreate, abi.KindUpdate, abi.KindDelete:
		h.Reason = causes.Reason(spec.Kind)
	case abi.KindResume:
		h.Initial = true
	}
	h.requiresFinalizer = spec.Kind == abi.KindDelete && !spec.Optional
	return h, nil
}

func (r *Registry) add(h *Handler) {
	switch h.Spec.Kind {
	case abi.KindStartup, abi.KindCleanup, abi.KindProbe, abi.KindLogin, abi.KindBackground:
		r.Activities[h.Spec.Kind] = append(r.Activities[h.Spec.Kind], h)
	case abi.KindEvent:
		r.watching = append(r.watching, h)
	case abi.KindTimer, abi.KindDaemon:
		r.spawning = append(r.spawning, h)
	case abi.KindIndex:
		r.Indexing = append(r.Indexing, h)
	case abi.KindValidate, abi.KindMutate:
		r.Admission = append(r.Admission, h)
	case abi.KindConvert:
		r.Converting = append(r.Converting, h)
	default:
		r.Changing = append(r.Changing, h)
	}
}

// ForObjects returns the handlers that have a resource.
func (r *Registry) ForObjects() []*Handler {
	return slices.Concat(r.Indexing, r.watching, r.Changing, r.spawning, r.Admission, r.Converting)
}

// NeedsServer reports whether the API server must reach the handlers.
func (r *Registry) NeedsServer() bool { return len(r.Admission)+len(r.Converting) > 0 }

// Handlers are the handlers of one resource, with what their stream needs to know.
type Handlers struct {
	Watching  []*Handler
	Changing  []*Handler
	Spawning  []*Handler
	Indexing  []*Handler
	Requiring []*Handler   // changing handlers that require the finalizer
	Owned     []string     // ids of the changing handlers, without duplicates
	Extra     []dicts.Path // handled fields, which therefore belong to the essence; none is in another one
	Inner     []dicts.Path // handled fields in those of Extra

	// Kept reports which parts of a body the host decodes. Guests get the whole body.
	Kept func(parent, key string) bool
}

// unmanaged omits the managed fields: they are half of a small object, and the host reads
// them only if a handler names them.
func unmanaged(parent, key string) bool { return key != "managedFields" || parent != "metadata" }

func everything(string, string) bool { return true }

// keptFor returns which parts of bodies the host decodes for handlers.
func keptFor(handlers []*Handler) func(parent, key string) bool {
	if slices.ContainsFunc(handlers, (*Handler).namesManaged) {
		return everything
	}
	return unmanaged
}

// namesManaged reports whether the handler's field is within the managed fields.
func (h *Handler) namesManaged() bool {
	field := h.Spec.Field
	return len(field) > 0 && field[0] == "metadata" && (len(field) == 1 || field[1] == "managedFields")
}

// ForResource returns the handlers of a resource.
func (r *Registry) ForResource(resource selectors.Resource) *Handlers {
	handlers := &Handlers{
		Watching: ofResource(r.watching, resource),
		Changing: ofResource(r.Changing, resource),
		Spawning: ofResource(r.spawning, resource),
		Indexing: ofResource(r.Indexing, resource),
	}
	handlers.Kept = keptFor(slices.Concat(handlers.Watching, handlers.Changing, handlers.Spawning, handlers.Indexing))
	owned := map[string]bool{}
	for _, h := range handlers.Changing {
		if h.requiresFinalizer {
			handlers.Requiring = append(handlers.Requiring, h)
		}
		if !owned[h.ID] {
			owned[h.ID] = true
			handlers.Owned = append(handlers.Owned, h.ID)
		}
	}
	var fields []dicts.Path
	for _, h := range slices.Concat(handlers.Watching, handlers.Changing, handlers.Spawning) {
		if len(h.Spec.Field) > 0 {
			fields = append(fields, dicts.Path(h.Spec.Field))
		}
	}
	handlers.Extra, handlers.Inner = outermost(fields)
	return handlers
}

// outermost divides fields into those that are in no other field, and the rest. Each is
// returned once.
func outermost(fields []dicts.Path) (outer, inner []dicts.Path) {
	type place struct {
		taken  bool
		inside map[string]*place
	}
	slices.SortStableFunc(fields, func(a, b dicts.Path) int { return len(a) - len(b) })
	root := &place{}
	for _, path := range fields {
		at, within := root, false
		for _, key := range path {
			within = within || at.taken
			if at.inside == nil {
				at.inside = map[string]*place{}
			}
			if at.inside[key] == nil {
				at.inside[key] = &place{}
			}
			at = at.inside[key]
		}
		switch {
		case at.taken: // by the same field
		case within:
			inner = append(inner, path)
		default:
			outer = append(outer, path)
		}
		at.taken = true
	}
	return outer, inner
}

// Count returns the number of handlers.
func (r *Handlers) Count() int {
	return len(r.Watching) + len(r.Changing) + len(r.Spawning) + len(r.Indexing)
}

// Interest returns which objects can concern the handlers, or an operator with this finalizer.
func (r *Handlers) Interest(finalizer string) *interests.Interest {
	wanted := &interests.Interest{Finalizer: finalizer}
	seen := map[string]bool{} // what handlers require, as text: there can be 10,000 of them
	var text []byte
	for _, h := range slices.Concat(r.Watching, r.Changing, r.Spawning, r.Indexing) {
		labels := h.Criteria.RequiredLabels()
		if len(labels) == 0 {
			return nil
		}
		wanted.Resuming = wanted.Resuming || h.Initial
		text = text[:0]
		for _, l := range labels {
			text = strconv.AppendBool(strconv.AppendQuote(strconv.AppendQuote(text, l.Key), l.Value), l.Any)
		}
		if !seen[string(text)] {
			seen[string(text)] = true
			wanted.Labels = append(wanted.Labels, labels)
		}
	}
	if len(wanted.Labels) == 0 {
		return nil // the handlers are not known yet
	}
	return wanted
}

// Alike reports whether the objects of two resources have the same handlers.
func (r *Registry) Alike(a, b selectors.Resource) bool {
	for _, h := range slices.Concat(r.Indexing, r.watching, r.Changing, r.spawning) {
		if h.Selector.Check(a) != h.Selector.Check(b) {
			return false
		}
	}
	return true
}

func ofResource(handlers []*Handler, resource selectors.Resource) []*Handler {
	var found []*Handler
	for _, h := range handlers {
		if h.Selector.Check(resource) {
			found = append(found, h)
		}
	}
	return found
}

// Deduplicated removes repeated registrations of one function under one id, so that the
// function is called once for a cause.
func Deduplicated(handlers []*Handler) []*Handler {
	type key struct{ fn, id string }
	seen := make(map[key]bool, len(handlers))
	var unique []*Handler
	for _, h := range handlers {
		if k := (key{h.Fn, h.ID}); !seen[k] {
			seen[k] = true
			unique = append(unique, h)
		}
	}
	return unique
}

// ReviewedParts returns which parts of a body reviews decode: those that identify the
// object, and those that filters of their handlers read. Guests get the whole body, and
// patches apply to the whole body.
func ReviewedParts(handlers []*Handler) func(parent, key string) bool {
	parts := map[string]bool{"apiVersion": true, "kind": true, "metadata": true}
	for _, h := range handlers {
		if len(h.Spec.Field) > 0 {
			parts[h.Spec.Field[0]] = true
		}
	}
	members := keptFor(handlers)
	return func(parent, key string) bool {
		if parent == "" {
			return parts[key]
		}
		return members(parent, key)
	}
}

// Lifecycle returns a lifecycle by Kopf's name.
func Lifecycle(name string) (progression.Lifecycle, error) {
	return progression.LifecycleByName(name, rand.IntN)
}

// IDs returns the ids of handlers.
func IDs(handlers []*Handler) []string {
	ids := make([]string, len(handlers))
	for i, h := range handlers {
		ids[i] = h.ID
	}
	return ids
}

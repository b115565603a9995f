package reactor

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/filters"
	"github.com/kopf-wasm/kopf/reactor/ids"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// Handler is a declared handler, ready to be matched and called.
//
// Kopf: kopf._core.intents.handlers (v1.45).
type Handler struct {
	ID       string // the full one: with the field, and with the parent
	Spec     abi.Handler
	Selector *selectors.Selector // nil for activities and children
	Criteria filters.Criteria

	starter starter // the guest, or the task of the parent
	asker   asker   // answers its open filters
	fn      string  // identifies the function within the operator
	index   int     // where it is declared
	depth   int     // how many parents it has

	reason            causes.Reason // empty: any
	initial           bool          // resuming
	requiresFinalizer bool
}

// Title names a handler in logs.
func (h *Handler) Title() string {
	switch h.Spec.Kind {
	case abi.KindStartup, abi.KindCleanup, abi.KindLogin, abi.KindProbe:
		return "Activity " + quote(h.ID)
	case abi.KindIndex:
		return "Indexer " + quote(h.ID)
	case abi.KindTimer:
		return "Timer " + quote(h.ID)
	case abi.KindDaemon:
		return "Daemon " + quote(h.ID)
	case abi.KindBackground:
		return "Background " + quote(h.ID)
	case abi.KindValidate, abi.KindMutate, abi.KindConvert:
		return "Webhook " + quote(h.ID)
	}
	return "Handler " + quote(h.ID)
}

// Registry holds all handlers of an operator by their purposes.
//
// Kopf: kopf._core.intents.registries (v1.45).
type Registry struct {
	activities map[abi.Kind][]*Handler
	watching   []*Handler // raw events
	changing   []*Handler // create, update, delete, resume, field
	spawning   []*Handler // daemons, timers
	indexing   []*Handler
	admission  []*Handler // validate, mutate
	converting []*Handler
	lifecycle  string // by default

	selections []*selection // of selectors that are functions
}

// clone is a copy whose handlers can be bound without changing those of the receiver.
func (r *Registry) clone() *Registry {
	if r == nil {
		return &Registry{}
	}
	own := *r
	for _, list := range []*[]*Handler{&own.watching, &own.changing, &own.spawning, &own.indexing, &own.admission, &own.converting} {
		*list = slices.Clone(*list)
		for i, h := range *list {
			copied := *h
			(*list)[i] = &copied
		}
	}
	return &own
}

// NewRegistry collects the handlers of guests, in the order of the guests. Kinds
// of handlers that are not supported are refused.
func NewRegistry(guests ...Guest) (*Registry, error) {
	r := &Registry{activities: map[abi.Kind][]*Handler{}}
	for n, guest := range guests {
		registration := guest.Registration()
		for i, spec := range registration.Handlers {
			h, err := newHandler(spec)
			if err != nil {
				return nil, fmt.Errorf("%s: handler %q: %w", guest.Name(), spec.ID, err)
			}
			h.starter, h.asker, h.index = guest, guest, i
			h.fn = fmt.Sprintf("%d/%s", n, cmp.Or(spec.Fn, fmt.Sprintf("#%d", i)))
			r.add(h)
		}
		r.lifecycle = cmp.Or(r.lifecycle, registration.Lifecycle)
	}
	return r, nil
}

// supported are the kinds that a registry takes.
var supported = []abi.Kind{
	abi.KindCreate, abi.KindUpdate, abi.KindDelete, abi.KindResume, abi.KindField,
	abi.KindEvent, abi.KindTimer, abi.KindDaemon, abi.KindIndex, abi.KindStartup, abi.KindCleanup, abi.KindProbe, abi.KindLogin, abi.KindBackground,
	abi.KindValidate, abi.KindMutate, abi.KindConvert,
}

func newHandler(spec abi.Handler) (*Handler, error) {
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
		h.reason = causes.Reason(spec.Kind)
	case abi.KindResume:
		h.initial = true
	}
	h.requiresFinalizer = spec.Kind == abi.KindDelete && !spec.Optional
	return h, nil
}

func (r *Registry) add(h *Handler) {
	switch h.Spec.Kind {
	case abi.KindStartup, abi.KindCleanup, abi.KindProbe, abi.KindLogin, abi.KindBackground:
		r.activities[h.Spec.Kind] = append(r.activities[h.Spec.Kind], h)
	case abi.KindEvent:
		r.watching = append(r.watching, h)
	case abi.KindTimer, abi.KindDaemon:
		r.spawning = append(r.spawning, h)
	case abi.KindIndex:
		r.indexing = append(r.indexing, h)
	case abi.KindValidate, abi.KindMutate:
		r.admission = append(r.admission, h)
	case abi.KindConvert:
		r.converting = append(r.converting, h)
	default:
		r.changing = append(r.changing, h)
	}
}

// forObjects are the handlers that have a resource.
func (r *Registry) forObjects() []*Handler {
	return slices.Concat(r.indexing, r.watching, r.changing, r.spawning, r.admission, r.converting)
}

// needsServer tells whether the API server has to reach the handlers.
func (r *Registry) needsServer() bool { return len(r.admission)+len(r.converting) > 0 }

// resourceHandlers are the handlers for one resource: what a stream needs to know.
type resourceHandlers struct {
	watching  []*Handler
	changing  []*Handler
	spawning  []*Handler
	indexing  []*Handler
	requiring []*Handler   // those of the changing ones that need the finalizer
	owned     []string     // ids of the changing ones, without repetitions
	extra     []dicts.Path // fields that belong to the essence since they are handled

	// kept tells which parts of a body are decoded; the guests get it as it came.
	kept func(parent, key string) bool
}

// unmanaged leaves out who has written which field: that is half of a small object,
// and nothing looks at it unless a handler names it.
func unmanaged(parent, key string) bool { return key != "managedFields" || parent != "metadata" }

func everything(string, string) bool { return true }

// keptFor tells which parts of bodies are decoded for handlers.
func keptFor(handlers []*Handler) func(parent, key string) bool {
	if slices.ContainsFunc(handlers, (*Handler).namesManaged) {
		return everything
	}
	return unmanaged
}

// namesManaged tells whether the handler's field is about managed fields.
func (h *Handler) namesManaged() bool {
	field := h.Spec.Field
	return len(field) > 0 && field[0] == "metadata" && (len(field) == 1 || field[1] == "managedFields")
}

// forResource selects the handlers for a resource.
func (r *Registry) forResource(resource selectors.Resource) *resourceHandlers {
	handlers := &resourceHandlers{
		watching: ofResource(r.watching, resource),
		changing: ofResource(r.changing, resource),
		spawning: ofResource(r.spawning, resource),
		indexing: ofResource(r.indexing, resource),
	}
	handlers.kept = keptFor(slices.Concat(handlers.watching, handlers.changing, handlers.spawning, handlers.indexing))
	for _, h := range handlers.changing {
		if h.requiresFinalizer {
			handlers.requiring = append(handlers.requiring, h)
		}
		if !slices.Contains(handlers.owned, h.ID) {
			handlers.owned = append(handlers.owned, h.ID)
		}
	}
	for _, h := range slices.Concat(handlers.watching, handlers.changing, handlers.spawning) {
		if len(h.Spec.Field) > 0 {
			handlers.extra = append(handlers.extra, dicts.Path(h.Spec.Field))
		}
	}
	return handlers
}

func (r *resourceHandlers) count() int {
	return len(r.watching) + len(r.changing) + len(r.spawning) + len(r.indexing)
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

// deduplicated drops repeated registrations of one function under one id: it is
// called once for a cause, however many registrations match.
func deduplicated(handlers []*Handler) []*Handler {
	type key struct{ fn, id string }
	seen := make(map[key]bool, len(handlers))
	var unique []*Handler
	for _, h := range handlers {
		if k := (key{h.fn, h.ID}); !seen[k] {
			seen[k] = true
			unique = append(unique, h)
		}
	}
	return unique
}

// reviewedParts tells which parts of a body reviews look at: what names the object, and
// what the filters of their handlers are about. The guests get it as it came, and patches
// are of the whole of it.
func reviewedParts(handlers []*Handler) func(parent, key string) bool {
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

// lifecycleByName finds a lifecycle, by the names of the reference.
func lifecycleByName(name string) (progression.Lifecycle, error) {
	return progression.LifecycleByName(name, rand.IntN)
}

// idsOf are the ids of handlers.
func idsOf(handlers []*Handler) []string {
	ids := make([]string, len(handlers))
	for i, h := range handlers {
		ids[i] = h.ID
	}
	return ids
}

package admission

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/generations"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/patches"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/processing"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/reviews"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// Admission is the part of an operator that webhooks call. It is safe for concurrent use.
//
// Kopf: kopf._core.engines.admission (v1.45).
type Admission struct {
	generations *generations.Generations
	memories    *processing.Memories
	connected   func() *clients.Client
	settings    *settings.Settings
	log         zerolog.Logger
	refKey      string        // see New
	changed     chan struct{} // gets a token after each change of the resources

	mu         sync.Mutex           // guards the fields below
	generation uint32               // whose handlers the resources are for
	resources  []selectors.Resource // for reviews
	versions   []selectors.Resource // for conversions: resources in all versions
	found      chan struct{}        // closed when the resources are known for the first time
}

// New makes an Admission from the generations of handlers and the memories of objects. It
// calls client when it needs the client, because no client exists before the login. The
// refKey is the log field that holds the reference of the object.
func New(g *generations.Generations, m *processing.Memories, client func() *clients.Client, s *settings.Settings, log zerolog.Logger, refKey string) *Admission {
	return &Admission{
		generations: g, memories: m, connected: client, settings: s, log: log, refKey: refKey,
		changed: make(chan struct{}, 1), found: make(chan struct{}),
	}
}

// Serve replaces the resources that the handlers of a generation are for. All is every
// resource of the cluster.
func (a *Admission) Serve(e *generations.Generation, resources, all []selectors.Resource) {
	versions := selected(all, func(r selectors.Resource) bool {
		return slices.ContainsFunc(e.Registry.Converting, func(h *registries.Handler) bool { return converts(h, r) })
	})
	equal := func(x, y selectors.Resource) bool { return x.Key() == y.Key() }
	a.mu.Lock()
	first := a.resources == nil
	same := !first && a.generation == e.Number && slices.EqualFunc(a.resources, resources, equal) && slices.EqualFunc(a.versions, versions, equal)
	a.generation = e.Number
	a.resources, a.versions = append([]selectors.Resource{}, resources...), versions
	a.mu.Unlock()
	if first {
		close(a.found)
	}
	if !same {
		select {
		case a.changed <- struct{}{}:
		default:
		}
	}
}

// Found is closed when the resources are known for the first time. Reviews that come
// earlier find no handlers.
func (a *Admission) Found() <-chan struct{} { return a.found }

// Changed delivers a token after the resources have changed.
func (a *Admission) Changed() <-chan struct{} { return a.changed }

// Handlers returns the handlers of webhooks in the order of their declaration, with their
// current resources.
func (a *Admission) Handlers() []reviews.Handler {
	e := a.generations.Hold()
	defer e.Release()
	a.mu.Lock()
	defer a.mu.Unlock()
	list := []reviews.Handler{}
	for _, h := range e.Registry.Admission {
		list = append(list, reviews.Handler{ID: h.ID, Spec: h.Spec, Resources: selected(a.resources, h.Selector.Check)})
	}
	for _, h := range e.Registry.Converting {
		list = append(list, reviews.Handler{ID: h.ID, Spec: h.Spec, Resources: selected(a.versions, func(r selectors.Resource) bool { return converts(h, r) })})
	}
	return list
}

// Served returns a resource, if a handler of webhooks is for it. Reviews ask for each request.
func (a *Admission) Served(key selectors.Key) (r selectors.Resource, ok bool) {
	e := a.generations.Hold()
	defer e.Release()
	a.mu.Lock()
	defer a.mu.Unlock()
	find := func(among []selectors.Resource, handlers []*registries.Handler, is func(*registries.Handler, selectors.Resource) bool) bool {
		at := slices.IndexFunc(among, func(r selectors.Resource) bool { return r.Key() == key })
		if at < 0 || !slices.ContainsFunc(handlers, func(h *registries.Handler) bool { return is(h, among[at]) }) {
			return false
		}
		r = among[at]
		return true
	}
	ok = find(a.resources, e.Registry.Admission, func(h *registries.Handler, r selectors.Resource) bool { return h.Selector.Check(r) }) ||
		find(a.versions, e.Registry.Converting, converts)
	return r, ok
}

// selected returns some of the resources, without room for the others.
func selected(resources []selectors.Resource, is func(selectors.Resource) bool) []selectors.Resource {
	var found []selectors.Resource
	for _, r := range resources {
		if is(r) {
			found = append(found, r)
		}
	}
	return slices.Clip(found)
}

// Get reads an object in one attempt.
func (a *Admission) Get(ctx context.Context, path apipath.Path) ([]byte, error) {
	return a.connected().Get(ctx, path, nil)
}

// Create creates an object.
func (a *Admission) Create(ctx context.Context, path apipath.Path, object []byte) error {
	return a.connected().Post(ctx, path, object, a.settings.Networking.ErrorBackoffs)
}

// Patch merges a patch into an object.
func (a *Admission) Patch(ctx context.Context, path apipath.Path, mergePatch []byte) error {
	_, err := a.connected().Patch(ctx, path, clients.MergePatch, mergePatch)
	return err
}

// Identity returns the certificate of the API server and its version.
func (a *Admission) Identity(ctx context.Context) (*x509.Certificate, string, error) {
	return a.connected().Identity(ctx)
}

func (a *Admission) find(wanted reviews.Resource) (selectors.Resource, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := selectors.Key{Group: wanted.Group, Version: wanted.Version, Plural: wanted.Resource}
	for _, r := range a.resources {
		if r.Key() == key {
			return r, nil
		}
	}
	return selectors.Resource{}, reviews.UnknownResource(wanted)
}

// Review calls the handlers of a request one after another and returns their verdict. It
// returns a reviews.Error if the request is invalid. It returns other errors if the
// request cannot be answered: a filter has failed, or the time is over.
//
// Kopf: kopf._core.engines.admission.serve_admission_request.
func (a *Admission) Review(ctx context.Context, in *reviews.Incoming) (*reviews.Verdict, error) {
	resource, err := a.find(in.Resource)
	if err != nil {
		return nil, err
	}
	if err := in.Check(); err != nil {
		return nil, err
	}
	e := a.generations.Hold()
	defer e.Release()
	lease, err := accounts.Await(ctx, e.Services.Account, heapOf(in.Request))
	if err != nil {
		return nil, err
	}
	defer lease.Release()
	var c *handling.Cause
	if e.Services.Work(ctx, len(in.Body()), func() { c, err = a.cause(e, in, resource) }); err != nil {
		return nil, err
	}
	handlers, err := c.Match(ctx, candidates(e.Registry, in, resource))
	if err != nil {
		return nil, err
	}
	x := &handling.Execution{Settings: a.settings, Lifecycle: progression.AllAtOnce, Errors: handling.ModePermanent}
	defer c.Patch.Release(context.WithoutCancel(ctx), 0)
	verdict := &reviews.Verdict{}
	for _, h := range handlers {
		result, err := x.Attempt(ctx, h, c, progression.HandlerState{Active: true, Started: time.Now()})
		if err != nil {
			return nil, err
		}
		if result.Failure != nil {
			verdict.Failures = append(verdict.Failures, result.Failure)
		}
		verdict.Warnings = append(verdict.Warnings, result.Warnings...)
	}
	if verdict.Patch, err = patchOf(ctx, c); err != nil {
		return nil, err
	}
	mutates := slices.ContainsFunc(handlers, func(h *registries.Handler) bool { return h.Spec.Kind == abi.KindMutate })
	if len(verdict.Patch) > 0 && !mutates { // the API server refuses the whole answer otherwise
		verdict.Patch = nil
		verdict.Failures = append(verdict.Failures, &abi.Error{Kind: abi.ErrorArbitrary, Message: errValidatingPatch})
	}
	return verdict, nil
}

// heapOf is the memory that a request takes when it is decoded: both objects for their
// differences, and the body for filters and with a patch.
func heapOf(r *reviews.Request) int {
	object, old := dicts.Heap(r.Object), dicts.Heap(r.OldObject)
	if r.Object == nil {
		return 3 * old
	}
	return 3*object + old
}

const errValidatingPatch = "a validating handler cannot change the object, but it has a patch for it"

// cause makes the cause of a review. It uses the memo of the object, even if the object is
// still being created.
func (a *Admission) cause(e *generations.Generation, in *reviews.Incoming, resource selectors.Resource) (*handling.Cause, error) {
	body, err := dicts.DecodeParts(in.Body(), e.Reviewed)
	if err != nil {
		return nil, &reviews.Error{Code: 400, Message: fmt.Sprintf("The object of the admission request cannot be read: %v", err)}
	}
	return handling.NewCause(&handling.Object{
		Services: e.Services, Resource: &resource, Raw: in.Body(), Body: body,
		Memo:  a.memories.Reviewed(dicts.LookupString(body, "metadata", "uid"), in.Operation == "CREATE"),
		Patch: patching.New(nil), Log: loggers.ForObject(&a.log, a.refKey, body).Local(),
	}, &review{in}), nil
}

// candidates returns the handlers that match the request before their filters run.
// Mutating handlers get deletions only if they ask for them.
func candidates(registry *registries.Registry, in *reviews.Incoming, resource selectors.Resource) []*registries.Handler {
	var found []*registries.Handler
	for _, h := range registry.Admission {
		isFor := h.Spec.Subresource == "*" || h.Spec.Subresource == in.Subresource
		mutates := h.Spec.Kind == abi.KindMutate && in.Operation == "DELETE" && !slices.Equal(h.Spec.Operations, []string{"DELETE"})
		if h.ID == in.Webhook && isFor && !mutates && h.Selector.Check(resource) {
			found = append(found, h)
		}
	}
	return found
}

// patchOf returns the merged patch of all handlers as the operations of the answer.
func patchOf(ctx context.Context, c *handling.Cause) ([]patches.Operation, error) {
	if c.Patch.Empty() {
		return nil, nil
	}
	var body, wanted dicts.Object
	var err error
	c.Work(ctx, len(c.Raw)+c.Patch.Returned(), func() {
		if body, err = dicts.DecodeObject(c.Raw); err == nil {
			wanted, err = patches.Apply(body, c.Patch.Merge.Object())
		}
	})
	if err == nil && len(c.Patch.Transformations) > 0 {
		wanted, err = c.Patch.Transformed(ctx, wanted, c.Work)
	}
	if err != nil {
		return nil, fmt.Errorf("the patch of the handlers: %w", err)
	}
	var operations []patches.Operation
	c.Work(ctx, len(c.Raw)+c.Patch.Returned(), func() { operations = patches.Diff(body, wanted) })
	return operations, nil
}

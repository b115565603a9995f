package reactor

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/patches"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/reviews"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/rs/zerolog"
)

// Admission is an operator as its webhooks see it. It is safe for concurrent use.
//
// Kopf: kopf._core.engines.admission (v1.45).
type Admission struct {
	generations *generations
	memories    *memories
	connected   func() *clients.Client
	settings    *settings.Settings
	log         zerolog.Logger
	refKey      string        // see Options
	changed     chan struct{} // has a token after each change of the resources

	mu         sync.Mutex           // guards all below
	generation uint32               // whose handlers they are for
	resources  []selectors.Resource // for reviews
	versions   []selectors.Resource // for conversions: of all versions
	found      chan struct{}        // closed when the resources are known
}

// serve replaces the resources that the handlers of a generation are for, out of all
// that there are.
func (a *Admission) serve(e *generation, resources, all []selectors.Resource) {
	versions := slices.DeleteFunc(slices.Clone(all), func(r selectors.Resource) bool {
		return !slices.ContainsFunc(e.registry.converting, func(h *Handler) bool { return h.converts(r) })
	})
	equal := func(x, y selectors.Resource) bool { return x.Key() == y.Key() }
	a.mu.Lock()
	first := a.resources == nil
	same := !first && a.generation == e.number && slices.EqualFunc(a.resources, resources, equal) && slices.EqualFunc(a.versions, versions, equal)
	a.generation = e.number
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

// Found is closed when the resources are known for the first time: reviews that come
// earlier find no handlers.
func (a *Admission) Found() <-chan struct{} { return a.found }

// Changed has something to receive after the resources have changed.
func (a *Admission) Changed() <-chan struct{} { return a.changed }

// Handlers are the handlers of webhooks in the order of their declaration, with
// the resources that they are for now.
func (a *Admission) Handlers() []reviews.Handler {
	e := a.generations.hold()
	defer e.release()
	a.mu.Lock()
	defer a.mu.Unlock()
	list := []reviews.Handler{}
	for _, h := range e.registry.admission {
		list = append(list, reviews.Handler{ID: h.ID, Spec: h.Spec, Resources: selected(a.resources, h.Selector.Check)})
	}
	for _, h := range e.registry.converting {
		list = append(list, reviews.Handler{ID: h.ID, Spec: h.Spec, Resources: selected(a.versions, h.converts)})
	}
	return list
}

func selected(resources []selectors.Resource, is func(selectors.Resource) bool) []selectors.Resource {
	return slices.DeleteFunc(slices.Clone(resources), func(r selectors.Resource) bool { return !is(r) })
}

// Get reads an object, in one attempt.
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

// Identity is the certificate of the API server, and its version.
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

// Review calls the handlers of a request, one after another, and returns what they
// have decided. An error means that the request itself is bad (reviews.Error), or
// that it cannot be answered: a filter has failed, the time is over.
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
	e := a.generations.hold()
	defer e.release()
	c, err := a.cause(e, in, resource)
	if err != nil {
		return nil, err
	}
	handlers, err := c.match(ctx, candidates(e.registry, in, resource))
	if err != nil {
		return nil, err
	}
	handlers = deduplicated(handlers)
	x := &execution{settings: a.settings, lifecycle: progression.AllAtOnce, errors: modePermanent}
	defer c.patch.release(context.WithoutCancel(ctx), 0)
	verdict := &reviews.Verdict{}
	for _, h := range handlers {
		result, err := x.attempt(ctx, h, c, progression.HandlerState{Active: true, Started: time.Now()})
		if err != nil {
			return nil, err
		}
		if result.failure != nil {
			verdict.Failures = append(verdict.Failures, result.failure)
		}
		verdict.Warnings = append(verdict.Warnings, result.warnings...)
	}
	if verdict.Patch, err = patchOf(ctx, c); err != nil {
		return nil, err
	}
	mutates := slices.ContainsFunc(handlers, func(h *Handler) bool { return h.Spec.Kind == abi.KindMutate })
	if len(verdict.Patch) > 0 && !mutates { // the API server would refuse the answer as a whole
		verdict.Patch = nil
		verdict.Failures = append(verdict.Failures, &abi.Error{Kind: abi.ErrorArbitrary, Message: errValidatingPatch})
	}
	return verdict, nil
}

const errValidatingPatch = "a validating handler cannot change the object, but it has a patch for it"

// cause makes the cause of a review. The memo is that of the object, which does
// not exist yet when it is being created.
func (a *Admission) cause(e *generation, in *reviews.Incoming, resource selectors.Resource) (*cause, error) {
	body, err := dicts.DecodeParts(in.Body(), e.reviewed)
	if err != nil {
		return nil, &reviews.Error{Code: 400, Message: fmt.Sprintf("The object of the admission request cannot be read: %v", err)}
	}
	return newCause(&object{
		services: e.services, resource: &resource, raw: in.Body(), body: body,
		memo:  a.memories.reviewed(dicts.LookupString(body, "metadata", "uid"), in.Operation == "CREATE"),
		patch: newPatch(nil), log: objectLogger(&a.log, a.refKey, body).local(),
	}, &review{in}), nil
}

// candidates are the handlers that the request is for, but for their filters. Of
// mutating ones, only those that say so are for deletions.
func candidates(registry *Registry, in *reviews.Incoming, resource selectors.Resource) []*Handler {
	var found []*Handler
	for _, h := range registry.admission {
		isFor := h.Spec.Subresource == "*" || h.Spec.Subresource == in.Subresource
		mutates := h.Spec.Kind == abi.KindMutate && in.Operation == "DELETE" && !slices.Equal(h.Spec.Operations, []string{"DELETE"})
		if h.ID == in.Webhook && isFor && !mutates && h.Selector.Check(resource) {
			found = append(found, h)
		}
	}
	return found
}

// patchOf is the patch of all handlers as the answer to a review has it.
func patchOf(ctx context.Context, c *cause) ([]patches.Operation, error) {
	if c.patch.empty() {
		return nil, nil
	}
	body, err := dicts.DecodeObject(c.raw)
	if err != nil {
		return nil, err
	}
	wanted, err := patches.Apply(body, c.patch.merge.Object())
	if err == nil && len(c.patch.transformations) > 0 {
		wanted, err = c.patch.transformed(ctx, wanted)
	}
	if err != nil {
		return nil, fmt.Errorf("the patch of the handlers: %w", err)
	}
	return patches.Diff(body, wanted), nil
}

package admission

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/generations"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/memos"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/reviews"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// Reserve waits for memory in which to convert objects.
//
// Errors: accounts.ErrLimit.
func (a *Admission) Reserve(ctx context.Context, bytes int) (*accounts.Lease, error) {
	return accounts.Await(ctx, a.generations.Present().Services.Account, bytes)
}

// sizeOfStep is what looking for a way costs for each conversion handler, as the size of a text.
const sizeOfStep = 100

// Convert converts an object to another version of its group, in as many steps as needed.
// Errors name the object, and the handler that failed or is missing.
func (a *Admission) Convert(ctx context.Context, raw []byte, desired string) (converted []byte, err error) {
	e := a.generations.Hold()
	defer e.Release()
	var object dicts.Object
	e.Services.Work(ctx, len(raw), func() { object, err = dicts.DecodeObject(raw) })
	if err != nil {
		return nil, fmt.Errorf("the object cannot be read: %w", err)
	}
	held := patching.New(nil)
	defer func() { held.Release(context.WithoutCancel(ctx), 0) }()
	var converter *converter
	e.Services.Work(ctx, len(e.Registry.Converting)*sizeOfStep, func() { converter, err = a.converter(e, object, desired) })
	if err == nil {
		converter.size = len(raw)
		object, held, err = converter.run(ctx, object, held)
	}
	if err != nil {
		name := strings.Trim(dicts.LookupString(object, "metadata", "namespace")+"/"+dicts.LookupString(object, "metadata", "name"), "/")
		return nil, fmt.Errorf("%s %s: %w", dicts.LookupString(object, "kind"), name, err)
	}
	e.Services.Work(ctx, converter.size, func() { converted = dicts.Encode(object) })
	return converted, nil
}

// conversion is the kind of cause of one step of a conversion. It has no side effects.
type conversion struct{ from, to string }

func (k *conversion) Kwargs(inv *abi.Invocation) {
	inv.Conversion = &abi.Conversion{From: k.from, To: k.to}
}

func (*conversion) Segment(*handling.Object, uint32) ([]byte, bool) { return nil, false }

func (*conversion) ReadOnly(*registries.Handler) string { return "a conversion has no side effects" }

// converter is a chain of handlers from one version to another.
type converter struct {
	admission  *Admission
	generation *generations.Generation // the caller of converter holds it
	group      string
	resource   selectors.Resource
	steps      []*registries.Handler
	size       int // of the text of the object, in bytes
}

// converter finds the shortest chain of handlers for an object.
func (a *Admission) converter(e *generations.Generation, object dicts.Object, desired string) (*converter, error) {
	group, from := splitVersion(dicts.LookupString(object, "apiVersion"))
	wantedGroup, to := splitVersion(desired)
	if group != wantedGroup {
		return nil, fmt.Errorf("it is of the group %q, not %q", group, wantedGroup)
	}
	c := &converter{admission: a, generation: e, group: group}
	handlers := a.convertersOf(e.Registry, group, dicts.LookupString(object, "kind"), &c.resource)
	steps := make([]reviews.Step, len(handlers))
	for i, h := range handlers {
		steps[i] = reviews.Step{From: h.Spec.From, To: h.Spec.To}
	}
	path, found := reviews.Path(steps, from, to)
	if !found {
		return nil, fmt.Errorf("there is no way from %s to %s; handlers convert: %s", from, to, reviews.Describe(steps))
	}
	for _, i := range path {
		c.steps = append(c.steps, handlers[i])
	}
	return c, nil
}

// convertersOf returns the handlers for a kind in any version, and one of its resources.
func (a *Admission) convertersOf(registry *registries.Registry, group, kind string, resource *selectors.Resource) []*registries.Handler {
	a.mu.Lock()
	defer a.mu.Unlock()
	var found []*registries.Handler
	for _, h := range registry.Converting {
		for _, r := range a.versions {
			if r.Group == group && r.Kind == kind && converts(h, r) {
				*resource = r
				found = append(found, h)
				break
			}
		}
	}
	return found
}

// converts reports whether a handler is for a resource, in any version. A selector without
// a version matches the preferred version only, so the version is ignored.
func converts(h *registries.Handler, r selectors.Resource) bool {
	r.Preferred = true
	return h.Selector.Check(r)
}

// splitVersion splits an apiVersion.
func splitVersion(apiVersion string) (group, version string) {
	if group, version, ok := strings.Cut(apiVersion, "/"); ok {
		return group, version
	}
	return "", apiVersion
}

// run runs all steps. The patch that it returns has the memory of the result. It releases the given one, which is that of the
// object, if the object is replaced.
func (c *converter) run(ctx context.Context, object dicts.Object, held *patching.Patch) (dicts.Object, *patching.Patch, error) {
	for _, h := range c.steps {
		next, own, err := c.step(ctx, h, object)
		if err != nil {
			own.Release(context.WithoutCancel(ctx), 0)
			return object, held, fmt.Errorf("from %s to %s: %w", h.Spec.From, h.Spec.To, err)
		}
		held.Release(context.WithoutCancel(ctx), 0)
		object, held = next, own
	}
	return object, held, nil
}

// encode returns the text of an object for a handler, which the patch counts.
func (c *converter) encode(ctx context.Context, object dicts.Object, held *patching.Patch) (raw []byte, err error) {
	services := c.generation.Services
	services.Work(ctx, c.size, func() {
		raw = dicts.Encode(object)
		err = held.ChargeReturned(services.Account, len(raw))
	})
	return raw, err
}

// step runs one handler. The caller releases the patch, even after an error: it has the memory of the result.
func (c *converter) step(ctx context.Context, h *registries.Handler, before dicts.Object) (after dicts.Object, held *patching.Patch, err error) {
	e := c.generation
	held = patching.New(nil)
	raw, err := c.encode(ctx, before, held)
	if err != nil {
		return nil, held, fmt.Errorf("%s: %w", loggers.Quote(h.ID), err)
	}
	made := handling.NewCause(&handling.Object{
		Services: e.Services, Resource: &c.resource, Raw: raw, Body: before, Memo: memos.New(e.Services.Base, e.Services.Account),
		Patch: held, Log: loggers.ForObject(&c.admission.log, c.admission.refKey, before).Terse(),
	}, &conversion{from: h.Spec.From, to: h.Spec.To})
	defer made.Memo.Release()
	x := &handling.Execution{Settings: c.admission.settings, Lifecycle: progression.AllAtOnce, Errors: handling.ModePermanent}
	done, err := x.Attempt(ctx, h, made, progression.HandlerState{Active: true, Started: time.Now()})
	held.Drop(context.WithoutCancel(ctx)) // they would keep their instance
	if err != nil {
		return nil, held, err
	}
	if done.Failed {
		return nil, held, fmt.Errorf("%s: %s", loggers.Quote(h.ID), done.Message)
	}
	after, ok := done.Result.(dicts.Object)
	if !ok {
		return nil, held, fmt.Errorf("%s: the result is not an object", loggers.Quote(h.ID))
	}
	after, err = reviews.Converted(before, after, strings.TrimPrefix(c.group+"/"+h.Spec.To, "/"))
	if err != nil {
		return nil, held, fmt.Errorf("%s: %w", loggers.Quote(h.ID), err)
	}
	c.size = done.Size
	return after, held, nil
}

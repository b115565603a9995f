package explanation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/memos"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/processing"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// Question is an object, and the handlers and settings of an operator.
type Question struct {
	Registry *registries.Registry
	Settings *settings.Settings // after the startup handlers
	Resource selectors.Resource // of the object
	Raw      []byte             // the object in JSON
	Now      time.Time
}

var errNoName = errors.New("the object has no metadata.name")

// Explain answers a question. Filters that are functions of the module are called with the
// object, with empty memos and indices, and without requests.
//
// Errors: an object that is no JSON object, or has no name; a last handled state that cannot be
// decoded.
func Explain(ctx context.Context, q Question) (*Explanation, error) {
	body, err := dicts.DecodeObject(q.Raw)
	if err != nil {
		return nil, err
	}
	if dicts.LookupString(body, "metadata", "name") == "" {
		return nil, errNoName
	}
	x := &explainer{Question: q, body: body, handlers: q.Registry.ForResource(q.Resource), known: map[string]*Progress{}, result: &Explanation{}}
	if err := x.detect(); err != nil {
		return nil, err
	}
	x.recall()
	x.describe(ctx)
	x.judge(ctx)
	x.guard(ctx)
	return x.result, nil
}

// explainer makes one explanation.
type explainer struct {
	Question
	body     dicts.Object
	handlers *registries.Handlers // of the resource
	now      *handling.Cause      // at an event of the object
	start    *handling.Cause      // if the operator starts now
	plain    *handling.Cause      // of handlers that see no change
	known    map[string]*Progress // by handler
	result   *Explanation
}

// detect detects what has happened to the object: for an operator that knows it, and for one
// that starts.
func (x *explainer) detect() error {
	log := zerolog.Nop()
	object := &handling.Object{
		Services: &handling.Services{Base: memos.New(nil, nil), Indices: indexing.New(registries.IDs(x.Registry.Indexing), nil)},
		Resource: &x.Resource, Raw: x.Raw, Body: x.body, Patch: patching.New(nil), Log: loggers.Logger{Logger: &log},
	}
	x.plain = handling.NewCause(object, nil)
	for _, of := range []struct {
		cause   **handling.Cause
		initial bool
	}{{&x.now, false}, {&x.start, true}} {
		change, err := processing.Detect(&x.Settings.Persistence, x.handlers, causes.Observation{Body: x.body, Initial: of.initial})
		if err != nil {
			return fmt.Errorf("the last handled state: %w", err)
		}
		*of.cause = handling.NewCause(object, change)
	}
	return nil
}

// recall reads the progress of the handlers. A record that cannot be decoded is noted.
func (x *explainer) recall() {
	for _, id := range x.handlers.Owned {
		progress, err := x.recorded(id)
		if err != nil {
			x.note("The operator cannot handle the object: %v", err)
			continue
		}
		if progress != nil {
			x.known[id] = progress
		}
	}
}

// recorded reads the progress of a handler and of its sub-handlers; nil without any. The list of a handler has those of all levels.
func (x *explainer) recorded(id string) (*Progress, error) {
	p, subrefs, err := x.record(id)
	for _, sub := range slices.Compact(slices.Sorted(slices.Values(subrefs))) {
		below, _, err := x.record(sub)
		if err != nil {
			return nil, err
		}
		if below != nil {
			p.Subhandlers = append(p.Subhandlers, *below)
		}
	}
	return p, err
}

// record reads the progress of one handler, and the ids of its sub-handlers; nil without any.
func (x *explainer) record(id string) (p *Progress, subrefs []string, err error) {
	state, err := progression.FromStorage(x.body, x.Settings.Persistence.Progress, []string{id}, x.Now)
	if err != nil || len(state.IDs()) == 0 {
		return nil, nil, err
	}
	h := state.Handler(id)
	p = &Progress{ID: id, Purpose: h.Purpose, Attempts: h.Retries, Started: h.Started, Success: h.Success, Failure: h.Failure}
	if !h.Stopped.IsZero() {
		p.Stopped = &h.Stopped
	}
	switch {
	case h.Sleeping(x.Now):
		p.Next = &h.Delayed
	case !h.Finished() && h.Delayed.IsZero():
		p.Due = h.Started
	case !h.Finished():
		p.Due = h.Delayed
	}
	if h.Message != nil {
		p.Error = *h.Message
	}
	return p, h.Subrefs, nil
}

// describe identifies the object and its cause.
func (x *explainer) describe(ctx context.Context) {
	now, start := x.now.Change(), x.start.Change()
	x.result.Object = Object{
		Resource: x.Resource.String(), Namespace: dicts.LookupString(x.body, "metadata", "namespace"),
		Name: dicts.LookupString(x.body, "metadata", "name"), UID: dicts.LookupString(x.body, "metadata", "uid"),
	}
	c := Cause{Reason: now.Reason, Why: why[now.Reason], AtStart: start.Reason, Resuming: start.Initial, Handled: now.Old != nil}
	if interesting, err := x.now.PrematchesAny(ctx, x.handlers.Changing); err == nil && !interesting {
		c.Why = "no handler of changes is interested in the object, so the operator stores nothing on it"
	}
	if c.Handled {
		for _, item := range now.Diff {
			c.Diff = append(c.Diff, Change{Op: string(item.Op), Field: item.Path.String(), Old: item.Old, New: item.New})
		}
	}
	x.result.Cause = c
}

// why explains the reasons of causes.
var why = map[causes.Reason]string{
	causes.Create: "the object has no last handled state",
	causes.Update: "the object differs from its last handled state",
	causes.Delete: "the object is being deleted, and has the operator's finalizer",
	causes.Free:   "the object is being deleted, and does not have the operator's finalizer",
	causes.Noop:   "the object is as it was when it was handled last",
}

func (x *explainer) note(format string, args ...any) {
	x.result.Notes = append(x.result.Notes, fmt.Sprintf(format, args...))
}

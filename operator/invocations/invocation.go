// Package invocations calls single handlers of a module without a cluster.
package invocations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/internal/durations"
	"github.com/kopf-wasm/kopf/internal/spelling"
	"github.com/kopf-wasm/kopf/operator/answers"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/events"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/memos"
	"github.com/kopf-wasm/kopf/reactor/patches"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/stoppers"
)

// Options say which handler is called, and with what.
type Options struct {
	Handler string // the id
	Reason  string // create, update, delete, resume; or another kind of handlers; empty: guessed

	Object dicts.Object // nil for handlers of activities
	Old    dicts.Object // the object before an update; nil: none

	Retry     int            // number of attempts before this one
	Params    map[string]any // override those of the registration; nil: none
	Memo      map[string]any // of the object
	Operation string         // of reviews: CREATE, UPDATE, DELETE; empty: guessed

	Settings *settings.Settings // nil: the defaults
	Answers  *answers.Answers   // nil: all requests are refused

	// Lifetime is when a daemon or a background handler is asked to stop: after a century at most.
	Lifetime time.Duration
}

// UsageError is a mistake in the options.
type UsageError struct{ error }

// Unwrap returns the mistake.
func (e UsageError) Unwrap() error { return e.error }

func usage(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// Call calls a handler of a guest once, with its sub-handlers. A failed handler is a result.
//
// Errors: UsageError, and those of the context.
func Call(ctx context.Context, guest guests.Guest, o Options) (*Result, error) {
	if o.Settings == nil {
		o.Settings = settings.Default()
	}
	seen := &observer{answers: o.Answers}
	registry, err := registries.New(seen.border().Guest(guest))
	if err != nil {
		return nil, err
	}
	handler, err := choose(registry, &o)
	if err != nil {
		return nil, err
	}
	call, err := newCall(handler, registries.IDs(registry.Indexing), &o)
	if err != nil {
		return nil, err
	}
	return call.run(ctx, seen)
}

// call is one call of a handler.
type call struct {
	*Options
	handler *registries.Handler
	cause   *handling.Cause
	memo    *memos.Memo
	stopper *stoppers.Stopper // of daemons and background handlers; nil otherwise
}

func newCall(h *registries.Handler, indices []string, o *Options) (*call, error) {
	account, log := accounts.New(accounts.Limits{}), zerolog.Nop()
	base := &memos.Memo{}
	for key, value := range o.Memo {
		if _, err := base.Set(nil, key, dicts.Encode(value), -1); err != nil {
			return nil, usage("memo %q: %w", key, err)
		}
	}
	o.Lifetime = min(o.Lifetime, durations.Century)
	c := &call{Options: o, handler: h, memo: memos.New(base, account)}
	if err := c.check(); err != nil {
		return nil, err
	}
	services := &handling.Services{Base: base, Account: account, Events: events.New(o.Settings), Indices: indexing.New(indices, account)}
	object := &handling.Object{Services: services, Patch: patching.New(nil), Log: loggers.ForObject(&log, "object", o.Object)}
	if o.Object != nil {
		if h.Spec.Kind == abi.KindDelete || o.Reason == string(causes.Delete) {
			markDeleted(o.Object)
		}
		object.Resource, object.Body, object.Raw, object.Memo = resourceOf(h, o.Object), o.Object, dicts.Encode(o.Object), c.memo
	}
	kind, err := c.kind(object)
	c.cause = handling.NewCause(object, kind)
	if params := o.Params; params != nil {
		h.Spec.Param = dicts.Encode(params)
	}
	return c, err
}

// markDeleted marks an object as being deleted.
func markDeleted(object dicts.Object) {
	metadata, _ := object["metadata"].(dicts.Object)
	if metadata != nil && metadata["deletionTimestamp"] == nil {
		metadata["deletionTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	}
}

// resourceOf guesses the resource of an object, as no cluster can be asked.
func resourceOf(h *registries.Handler, object dicts.Object) *selectors.Resource {
	group, version, ok := strings.Cut(dicts.LookupString(object, "apiVersion"), "/")
	if !ok {
		group, version = "", group
	}
	kind := dicts.LookupString(object, "kind")
	plural := strings.ToLower(kind) + "s"
	if h.Spec.Resource != nil && h.Spec.Resource.Plural != "" {
		plural = h.Spec.Resource.Plural
	}
	return &selectors.Resource{
		Group: group, Version: version, Plural: plural, Kind: kind, Singular: strings.ToLower(kind),
		Namespaced: dicts.LookupString(object, "metadata", "namespace") != "", Preferred: true,
		Verbs: []string{"create", "delete", "get", "list", "patch", "update", "watch"},
	}
}

// run calls the handler and collects what has happened.
func (c *call) run(ctx context.Context, seen *observer) (*Result, error) {
	matched, err := c.cause.Match(ctx, []*registries.Handler{c.handler})
	if err != nil {
		return nil, fmt.Errorf("the filters of %s: %w", c.handler.ID, err)
	}
	result := &Result{Handler: c.handler.ID, Kind: string(c.handler.Spec.Kind), Filtered: len(matched) == 0}
	if c.stopper != nil {
		defer c.stopAfter(c.Lifetime)()
	}
	x := &handling.Execution{Settings: c.Settings, Lifecycle: progression.AllAtOnce, Errors: handling.ModeTemporary}
	state := progression.HandlerState{Active: true, Started: time.Now().Add(-durations.Seconds(60 * float64(c.Retry))), Retries: c.Retry}
	done, err := x.Attempt(ctx, c.handler, c.cause, state)
	defer c.cause.Patch.Release(context.WithoutCancel(ctx), 0)
	switch {
	case errors.Is(err, handling.ErrCancelled):
		result.Error = &Failure{Kind: "cancelled", Message: fmt.Sprintf("the handler did not end after it was asked to stop: it was cancelled after %v", 2*c.Lifetime)}
	case err != nil:
		return nil, err
	}
	result.take(&done)
	if err := c.takePatch(ctx, result); err != nil {
		return nil, err
	}
	seen.into(result)
	return result, nil
}

// stopAfter asks a daemon to stop, and cancels one that does not. The returned function ends
// that.
func (c *call) stopAfter(lifetime time.Duration) (end func()) {
	asked := time.AfterFunc(lifetime, func() { c.stopper.Set(abi.StopOperatorExiting) })
	forced := time.AfterFunc(2*lifetime, func() { c.stopper.Set(abi.StopDaemonCancelled) })
	return func() { asked.Stop(); forced.Stop() }
}

// takePatch takes the patch of the handler, without the progress of its sub-handlers.
func (c *call) takePatch(ctx context.Context, result *Result) error {
	merge, err := c.Settings.Persistence.Progress.Clear(dicts.CloneObject(c.cause.Patch.Merge.Object()))
	if err != nil {
		return err
	}
	dropEmpty(merge)
	if len(merge) > 0 {
		result.Patch = merge
	}
	if len(c.cause.Patch.Transformations) == 0 || c.Object == nil {
		return nil
	}
	before, err := patches.Apply(c.Object, merge)
	if err != nil {
		return err
	}
	after, err := c.cause.Patch.Transformed(ctx, before, nil)
	if err != nil {
		result.Error = &Failure{Kind: "transformation", Message: err.Error()}
		return nil
	}
	for _, operation := range patches.Diff(before, after) {
		result.Operations = append(result.Operations, operation.JSON())
	}
	return nil
}

// dropEmpty removes empty parts of a patch that only had the progress of handlers.
func dropEmpty(object dicts.Object) {
	for key, value := range object {
		part, ok := value.(dicts.Object)
		if !ok {
			continue
		}
		dropEmpty(part)
		if len(part) == 0 && (key == "metadata" || key == "annotations" || key == "status") {
			delete(object, key)
		}
	}
}

// choose finds the handler that is meant.
func choose(r *registries.Registry, o *Options) (*registries.Handler, error) {
	all := r.ForObjects()
	for _, kind := range []abi.Kind{abi.KindStartup, abi.KindCleanup, abi.KindLogin, abi.KindProbe, abi.KindBackground} {
		all = append(all, r.Activities[kind]...)
	}
	var named []*registries.Handler
	for _, h := range all {
		if h.ID == o.Handler || h.Spec.Fn == o.Handler {
			named = append(named, h)
		}
	}
	if len(named) == 0 {
		if len(all) == 0 {
			return nil, usage("the module registers no handlers")
		}
		ids := unique(registries.IDs(all))
		return nil, usage("unknown handler %q%s (handlers: %s)", o.Handler, question(o.Handler, ids), strings.Join(ids, ", "))
	}
	return chooseReason(named, o)
}

// question is the part of spelling.Meant that asks.
func question(word string, candidates []string) string {
	if text := spelling.Meant(word, candidates); strings.HasSuffix(text, "?") {
		return text
	}
	return ""
}

// chooseReason chooses among the registrations of one function.
func chooseReason(named []*registries.Handler, o *Options) (*registries.Handler, error) {
	reason := cmp.Or(o.Reason, guess(o))
	var kinds []string
	for _, h := range named {
		kinds = append(kinds, reasonsOf(h)...)
		if slices.Contains(reasonsOf(h), reason) {
			o.Reason = reason
			if reason == string(abi.KindField) { // which chooses the registration, and is the reason of no change
				o.Reason = cmp.Or(guess(o), string(causes.Update))
			}
			return h, nil
		}
	}
	if o.Reason != "" {
		kinds = unique(kinds)
		return nil, usage("the handler %q is not called for %q: it is called for %s", o.Handler, o.Reason, strings.Join(kinds, ", "))
	}
	chosen := named[max(0, slices.IndexFunc(named, func(h *registries.Handler) bool { return h.Spec.Kind == abi.KindCreate }))]
	o.Reason = reasonsOf(chosen)[0]
	return chosen, nil
}

// guess is the reason that the objects suggest.
func guess(o *Options) string {
	switch {
	case o.Old != nil:
		return string(causes.Update)
	case dicts.LookupString(o.Object, "metadata", "deletionTimestamp") != "":
		return string(causes.Delete)
	}
	return ""
}

// reasonsOf returns what a handler is called for, the most usual reason first.
func reasonsOf(h *registries.Handler) []string {
	if h.Spec.Kind == abi.KindField {
		return []string{string(causes.Update), string(causes.Create), string(causes.Delete), string(causes.Resume), string(h.Spec.Kind)}
	}
	return []string{string(h.Spec.Kind)}
}

func unique(all []string) []string { return slices.Compact(slices.Sorted(slices.Values(all))) }

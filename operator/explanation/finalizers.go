package explanation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/registries"
)

// guard explains the finalizers, and what blocks a deletion.
func (x *explainer) guard(ctx context.Context) {
	f := &x.result.Finalizers
	f.Own = x.Settings.Persistence.Finalizer
	value, _ := dicts.Lookup(x.body, "metadata", "finalizers")
	list, _ := value.([]any)
	for _, item := range list {
		if name, _ := item.(string); name != f.Own && name != "" {
			f.Foreign = append(f.Foreign, name)
		}
	}
	f.Present = causes.DeletionBlocked(x.body, f.Own)
	x.requiring(ctx, x.handlers.Spawning, x.plain.MatchesAny)
	x.requiring(ctx, x.handlers.Requiring, x.now.PrematchesAny)
	if causes.DeletionOngoing(x.body) {
		x.result.Deletion = &Deletion{Since: dicts.LookupString(x.body, "metadata", "deletionTimestamp"), BlockedBy: x.blockers()}
	}
}

// requiring adds the handlers that need the finalizer, as ask of the reactor decides it.
func (x *explainer) requiring(ctx context.Context, handlers []*registries.Handler, ask func(context.Context, []*registries.Handler) (bool, error)) {
	f := &x.result.Finalizers
	for _, h := range handlers {
		required, err := ask(ctx, []*registries.Handler{h})
		if err != nil {
			x.note("The finalizer may be needed for the %s handler %q: %v", h.Spec.Kind, h.ID, err)
		}
		if required && !slices.Contains(f.RequiredBy, h.ID) {
			f.RequiredBy = append(f.RequiredBy, h.ID)
		}
	}
}

// blockers says in words what the object waits for.
func (x *explainer) blockers() []string {
	var blockers []string
	f := &x.result.Finalizers
	if f.Present {
		for i := range x.result.Handlers {
			if text := x.blocking(&x.result.Handlers[i]); text != "" {
				blockers = append(blockers, text)
			}
		}
		if len(blockers) == 0 {
			blockers = append(blockers, fmt.Sprintf("the finalizer %s: no handler needs it any more, so the operator removes it as soon as it runs and sees the object", f.Own))
		}
	}
	for _, name := range f.Foreign {
		text, known := foreign[name]
		if !known {
			text = "another controller removes it"
		}
		blockers = append(blockers, fmt.Sprintf("the finalizer %s: %s", name, text))
	}
	return blockers
}

// foreign are the finalizers of Kubernetes itself.
var foreign = map[string]string{
	"foregroundDeletion":           "the garbage collector removes it after the objects that the object owns",
	"orphan":                       "the garbage collector removes it after it has released the objects that the object owns",
	"kubernetes":                   "the namespace controller removes it after everything in the namespace",
	"kubernetes.io/pvc-protection": "Kubernetes removes it when no pod uses the volume claim",
	"kubernetes.io/pv-protection":  "Kubernetes removes it when no claim is bound to the volume",
}

// blocking says what the deletion waits for because of one handler; empty: nothing.
func (x *explainer) blocking(h *Handler) string {
	name := fmt.Sprintf("%s %q", h.Kind, h.ID)
	switch h.Verdict {
	case Due:
		if h.Progress == nil {
			return name + ": it was not called yet"
		}
		return name + ": its next attempt is due"
	case Delayed:
		return fmt.Sprintf("%s: its next attempt is at %s", name, h.Progress.Next.Format(time.RFC3339))
	case Unknown:
		return name + ": it is unknown whether it matches"
	case Excluded:
		if slices.ContainsFunc(x.handlers.Spawning, func(s *registries.Handler) bool { return s.ID == h.ID }) && slices.Contains(x.result.Finalizers.RequiredBy, h.ID) {
			return name + ": it must have ended, which only the operator that runs it knows"
		}
	case Succeeded, Failed, Runs, Spies, Reviews, AtStart:
	}
	return ""
}

package explanation

import (
	"context"
	"fmt"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/filters"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/registries"
)

// judge decides what becomes of each handler.
func (x *explainer) judge(ctx context.Context) {
	x.result.Handlers = []Handler{}
	for _, h := range x.Registry.ForObjects() {
		one := Handler{ID: h.ID, Kind: h.Spec.Kind, Resource: h.Selector.String()}
		if h.Selector.Check(x.Resource) {
			x.judgeOne(ctx, h, &one)
		} else {
			one.Verdict, one.Why = Excluded, []string{fmt.Sprintf("its resource is %s, not %s", one.Resource, x.Resource)}
		}
		x.result.Handlers = append(x.result.Handlers, one)
	}
}

// judgeOne decides about a handler of the object's resource.
func (x *explainer) judgeOne(ctx context.Context, h *registries.Handler, one *Handler) {
	switch h.Spec.Kind {
	case abi.KindEvent, abi.KindIndex:
		x.filter(ctx, x.plain, h, Spies, one)
	case abi.KindDaemon, abi.KindTimer:
		x.background(ctx, h, one)
	case abi.KindValidate, abi.KindMutate:
		x.filter(ctx, x.plain, h, Reviews, one)
	case abi.KindConvert:
		one.Verdict = Reviews
	default:
		x.changing(ctx, h, one)
	}
}

// background decides about a daemon or a timer.
func (x *explainer) background(ctx context.Context, h *registries.Handler, one *Handler) {
	if causes.DeletionOngoing(x.body) {
		one.Verdict, one.Why = Excluded, []string{"the object is being deleted: it is stopped if it runs"}
		return
	}
	x.filter(ctx, x.plain, h, Runs, one)
}

// changing decides about a handler of changes: at an event, or else at a start of the operator.
func (x *explainer) changing(ctx context.Context, h *registries.Handler, one *Handler) {
	switch {
	case x.isFor(x.now, h):
		x.filter(ctx, x.now, h, Due, one)
		x.advance(one)
	case x.isFor(x.start, h):
		x.filter(ctx, x.start, h, AtStart, one)
	default:
		one.Verdict, one.Why = Excluded, []string{x.mismatch(h)}
	}
	if one.Progress == nil {
		one.Progress = x.known[h.ID]
	}
}

// isFor reports whether a handler is for a cause, whatever its filters are.
func (x *explainer) isFor(c *handling.Cause, h *registries.Handler) bool {
	k := c.Change()
	return k.Reason.Handled() && h.IsFor(causes.Cause{Reason: k.Reason, Initial: k.Initial}, c.Deleted())
}

// mismatch says why a handler is for neither of the causes.
func (x *explainer) mismatch(h *registries.Handler) string {
	reason := x.now.Change().Reason
	switch {
	case h.Initial && reason == causes.Create:
		return "it is for resuming, and the cause is creation: new objects are not resumed"
	case h.Initial && causes.DeletionOngoing(x.body):
		return "it is for resuming, but not of objects that are being deleted: it does not have the option deleted"
	case h.Initial:
		return "it is for resuming, which happens when the operator starts"
	case !reason.Handled():
		return "there is nothing to handle: " + x.result.Cause.Why
	}
	return fmt.Sprintf("it is for %s, and the cause is %s", h.Reason.Title(), reason.Title())
}

// filter decides by the filters of the handler.
func (x *explainer) filter(ctx context.Context, c *handling.Cause, h *registries.Handler, matched Verdict, one *Handler) {
	matches, findings, err := c.Explain(ctx, h)
	open := err == nil && (matches || !anyClosed(findings))
	for _, f := range findings {
		if !f.Open {
			one.Why = append(one.Why, textOf(f))
		}
	}
	switch {
	case err != nil:
		one.Verdict, one.Why = Unknown, append(one.Why, err.Error())
	case matches:
		one.Verdict = matched
	default:
		one.Verdict = Excluded
	}
	if open && len(findings) > 0 {
		one.Why = append(one.Why, decided(findings, matches))
	}
}

func anyClosed(findings []filters.Finding) bool {
	for _, f := range findings {
		if !f.Open {
			return true
		}
	}
	return false
}

// decided says what the functions of the module have decided.
func decided(findings []filters.Finding, matches bool) string {
	names := make([]string, len(findings))
	for i, f := range findings {
		names[i] = strings.TrimSpace(f.Option + " " + f.Key)
	}
	verb := "excludes it"
	if matches {
		verb = "includes it"
	}
	if len(names) > 1 {
		return fmt.Sprintf("the functions of the filters %s: their answer %s", strings.Join(names, ", "), verb)
	}
	return fmt.Sprintf("the function of the filter %s %s", names[0], verb)
}

// textOf says in words why a filter does not hold.
func textOf(f filters.Finding) string {
	if f.Option == "field" {
		return fmt.Sprintf("the field %s has not changed: it is %s", f.Key, found(f.Found[1]))
	}
	name := map[string]string{"labels": "the label ", "annotations": "the annotation ", "value": "the field ", "old": "the old value of the field ", "new": "the new value of the field "}[f.Option] + f.Key
	values := []string{found(f.Found[0])}
	if len(f.Found) > 1 && f.Found[1] != f.Found[0] {
		values = append(values, found(f.Found[1])+" before")
	}
	return fmt.Sprintf("%s must be %s, and is %s", name, wanted(f.Wanted), strings.Join(values, ", "))
}

func wanted(text string) string {
	switch text {
	case "PRESENT":
		return "present"
	case "ABSENT":
		return "absent"
	}
	return text
}

func found(text string) string { return strings.Replace(text, "ABSENT", "absent", 1) }

// advance refines the verdict of a handler that is due by its progress.
func (x *explainer) advance(one *Handler) {
	one.Progress = x.known[one.ID]
	if one.Verdict != Due || one.Progress == nil {
		return
	}
	switch p := one.Progress; {
	case p.Success:
		one.Verdict = Succeeded
	case p.Failure:
		one.Verdict = Failed
	case p.Next != nil:
		one.Verdict = Delayed
	}
}

package reactor

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/filters"
	"github.com/kopf-wasm/kopf/reactor/ids"
	"github.com/kopf-wasm/kopf/reactor/progression"
)

// runChildren calls the children of a handler that are due now, and stores their
// progress. If some of them are unfinished, the parent has to be called again:
// then the conversation has an error of the kind children. If they cannot be
// called at all, as by a filter that fails, it is the parent that has failed.
//
// Kopf: kopf._core.reactor.subhandling (v1.45).
func (t *conversation) runChildren(ctx context.Context, specs []abi.Handler, lifecycle string) error {
	t.error = nil
	if !t.cause.changing {
		return &guestError{fmt.Errorf("%w: only handlers of changes can have sub-handlers, but not %s", abi.ErrGuest, t.handler.Title())}
	}
	children, err := t.declare(specs)
	if err != nil {
		return &guestError{fmt.Errorf("%w: sub-handlers of %s: %w", abi.ErrGuest, quote(t.handler.ID), err)}
	}
	x := *t.execution
	x.workers = nil // they have the place of their parent
	if lifecycle != "" {
		if x.lifecycle, err = lifecycleByName(lifecycle); err != nil {
			return &guestError{fmt.Errorf("%w: sub-handlers of %s: %w", abi.ErrGuest, quote(t.handler.ID), err)}
		}
	}
	if err := t.runDeclared(ctx, &x, children); err != nil {
		return &guestError{err} // the parent has failed, not the cycle
	}
	return nil
}

// maxDepth bounds how deep sub-handlers nest: their ids grow with each level, and so does the
// stack of the process. A handler that declares itself as its child would never end.
const maxDepth = 50

// declare makes handlers of the children: they live under the id of the parent,
// on the instance of the parent.
func (t *conversation) declare(specs []abi.Handler) ([]*Handler, error) {
	if t.handler.depth == maxDepth {
		return nil, fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	children := make([]*Handler, len(specs))
	for i, spec := range specs {
		criteria, err := filters.ParseChild(spec, t.handler.Criteria)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", spec.ID, err)
		}
		child := &Handler{ID: ids.Generate("", &spec.ID, t.handler.ID, ""), Spec: spec, Criteria: criteria}
		child.starter, child.asker, child.index, child.depth = t.task, t.task, i, t.handler.depth+1
		child.fn = fmt.Sprintf("%s/%s", t.handler.fn, spec.Fn)
		children[i] = child
	}
	return deduplicated(children), nil
}

func (t *conversation) runDeclared(ctx context.Context, x *execution, children []*Handler) error {
	c := t.cause
	storage := x.settings.Persistence.Progress
	owned := idsOf(children)
	selected, err := c.match(ctx, children)
	if err != nil {
		return err
	}
	now := time.Now()
	state, err := progression.FromStorage(c.body, storage, owned, now)
	if err != nil {
		return err
	}
	state = state.WithPurpose(string(c.reason)).WithHandlers(idsOf(selected), now)
	outcomes, err := x.run(ctx, selected, c, state)
	if err != nil {
		return err
	}
	if state, err = x.record(c, state, outcomes); err != nil {
		return err
	}
	t.subrefs = append(t.subrefs, state.IDs()...)
	for _, done := range outcomes {
		t.subrefs = append(t.subrefs, done.subrefs...)
	}
	if !state.Done() {
		t.error = &abi.Error{Kind: abi.ErrorChildren}
		t.childrenDelay = state.Delay(time.Now())
	}
	return nil
}

// record adds the outcomes to the state, and both to the patch of the cycle.
func (x *execution) record(c *cause, state progression.State, outcomes map[string]outcome) (progression.State, error) {
	merged := forState(outcomes)
	state, err := state.WithOutcomes(merged, time.Now())
	if err != nil {
		return state, err
	}
	if err := state.Store(c.body, &c.patch.merge, x.settings.Persistence.Progress); err != nil {
		return state, err
	}
	return state, progression.DeliverResults(merged, &c.patch.merge)
}

func forState(outcomes map[string]outcome) map[string]progression.Outcome {
	converted := make(map[string]progression.Outcome, len(outcomes))
	for id, o := range outcomes {
		converted[id] = o.forState()
	}
	return converted
}

func lifecycleByName(name string) (progression.Lifecycle, error) {
	return progression.LifecycleByName(name, rand.IntN)
}

func idsOf(handlers []*Handler) []string {
	ids := make([]string, len(handlers))
	for i, h := range handlers {
		ids[i] = h.ID
	}
	return ids
}

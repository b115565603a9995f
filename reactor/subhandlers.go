package reactor

import (
	"context"
	"fmt"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
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
	if t.cause.change() == nil {
		return &guestError{fmt.Errorf("%w: only handlers of changes can have sub-handlers, but not %s", abi.ErrGuest, t.handler.Title())}
	}
	children, err := t.declare(specs)
	if err != nil {
		return &guestError{fmt.Errorf("%w: sub-handlers of %s: %w", abi.ErrGuest, quote(t.handler.ID), err)}
	}
	x := *t.execution
	x.entrance = nil // they have entered with their parent
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
	if err := t.charge(specs); err != nil {
		return nil, err
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

// childCost is about what a sub-handler takes besides its texts, in bytes.
const childCost = 1 << 10

// charge counts the children, until the cycle ends.
func (t *conversation) charge(specs []abi.Handler) error {
	account := t.cause.account
	if t.declared += len(specs); t.declared > account.Limits().MaxChildren {
		return account.Refuse(accounts.Children, fmt.Errorf("%w: %d sub-handlers of one call, but the limit MaxChildren is %d: declare fewer of them, or raise the limit with --limit MaxChildren=NUMBER",
			accounts.ErrLimit, t.declared, account.Limits().MaxChildren))
	}
	size := 0
	for i := range specs {
		size += childCost + len(t.handler.ID) + len(t.handler.fn) + textsOf(&specs[i])
	}
	return t.cause.patch.charge(account, 0, size)
}

// textsOf is the size of what a sub-handler is declared with.
func textsOf(h *abi.Handler) int {
	size := 2*len(h.ID) + len(h.Fn) + len(h.Param) + len(h.Value) + len(h.Old) + len(h.New)
	for _, filters := range []map[string]abi.Raw{h.Labels, h.Annotations} {
		for key, filter := range filters {
			size += len(key) + len(filter)
		}
	}
	for _, name := range h.Field {
		size += len(name)
	}
	return size
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
	state = state.WithPurpose(string(c.change().reason)).WithHandlers(idsOf(selected), now)
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

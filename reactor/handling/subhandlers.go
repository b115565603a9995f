package handling

import (
	"context"
	"fmt"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/filters"
	"github.com/kopf-wasm/kopf/reactor/ids"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/registries"
)

// runChildren calls the children of a handler that are due now, and stores their
// progress. If some of them are unfinished, the parent has to be called again:
// then the conversation has an error of the kind children. If they cannot be
// called at all, as by a filter that fails, it is the parent that has failed.
//
// Kopf: kopf._core.reactor.subhandling (v1.45).
func (t *Conversation) runChildren(ctx context.Context, specs []abi.Handler, lifecycle string) error {
	t.error = nil
	if t.Cause.Change() == nil {
		return &guestError{fmt.Errorf("%w: only handlers of changes can have sub-handlers, but not %s", abi.ErrGuest, t.Handler.Title())}
	}
	children, err := t.declare(specs)
	if err != nil {
		return &guestError{fmt.Errorf("%w: sub-handlers of %s: %w", abi.ErrGuest, loggers.Quote(t.Handler.ID), err)}
	}
	x := *t.Execution
	x.Entrance = nil // they have entered with their parent
	if lifecycle != "" {
		if x.Lifecycle, err = registries.Lifecycle(lifecycle); err != nil {
			return &guestError{fmt.Errorf("%w: sub-handlers of %s: %w", abi.ErrGuest, loggers.Quote(t.Handler.ID), err)}
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
func (t *Conversation) declare(specs []abi.Handler) ([]*registries.Handler, error) {
	if t.Handler.Depth == maxDepth {
		return nil, fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	if err := t.charge(specs); err != nil {
		return nil, err
	}
	children := make([]*registries.Handler, len(specs))
	for i, spec := range specs {
		criteria, err := filters.ParseChild(spec, t.Handler.Criteria)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", spec.ID, err)
		}
		child := &registries.Handler{ID: ids.Generate("", &spec.ID, t.Handler.ID, ""), Spec: spec, Criteria: criteria}
		child.Starter, child.Asker, child.Index, child.Depth = t.Task, t.Task, i, t.Handler.Depth+1
		child.Fn = fmt.Sprintf("%s/%s", t.Handler.Fn, spec.Fn)
		children[i] = child
	}
	return registries.Deduplicated(children), nil
}

// childCost is about what a sub-handler takes besides its texts, in bytes.
const childCost = 1 << 10

// charge counts the children, until the cycle ends.
func (t *Conversation) charge(specs []abi.Handler) error {
	account := t.Cause.Account
	if t.declared += len(specs); t.declared > account.Limits().MaxChildren {
		return account.Refuse(accounts.Children, fmt.Errorf("%w: %d sub-handlers of one call, but the limit MaxChildren is %d: declare fewer of them, or raise the limit with --limit MaxChildren=NUMBER",
			accounts.ErrLimit, t.declared, account.Limits().MaxChildren))
	}
	size := 0
	for i := range specs {
		size += childCost + len(t.Handler.ID) + len(t.Handler.Fn) + textsOf(&specs[i])
	}
	return t.Cause.Patch.Charge(account, 0, size)
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

func (t *Conversation) runDeclared(ctx context.Context, x *Execution, children []*registries.Handler) error {
	c := t.Cause
	storage := x.Settings.Persistence.Progress
	owned := registries.IDs(children)
	selected, err := c.Match(ctx, children)
	if err != nil {
		return err
	}
	now := time.Now()
	state, err := progression.FromStorage(c.Body, storage, owned, now)
	if err != nil {
		return err
	}
	state = state.WithPurpose(string(c.Change().Reason)).WithHandlers(registries.IDs(selected), now)
	outcomes, err := x.Run(ctx, selected, c, state)
	if err != nil {
		return err
	}
	if state, err = x.Record(c, state, outcomes); err != nil {
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

// Record adds the outcomes to the state, and both to the patch of the cycle.
func (x *Execution) Record(c *Cause, state progression.State, outcomes map[string]Outcome) (progression.State, error) {
	merged := ForState(outcomes)
	state, err := state.WithOutcomes(merged, time.Now())
	if err != nil {
		return state, err
	}
	if err := state.Store(c.Body, &c.Patch.Merge, x.Settings.Persistence.Progress); err != nil {
		return state, err
	}
	return state, progression.DeliverResults(merged, &c.Patch.Merge)
}

func ForState(outcomes map[string]Outcome) map[string]progression.Outcome {
	converted := make(map[string]progression.Outcome, len(outcomes))
	for id, o := range outcomes {
		converted[id] = o.ForState()
	}
	return converted
}

package handling

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/filters"
	"github.com/kopf-wasm/kopf/reactor/ids"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/registries"
)

// runChildren calls the sub-handlers of a handler that are due now, and stores their
// progress. If some are unfinished, the parent must be called again, so the conversation
// ends with an error of the kind children. If they cannot be called, for example because a
// filter fails, the parent has failed.
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
	x.Entrance = nil // they have entered together with their parent
	if lifecycle != "" {
		if x.Lifecycle, err = registries.Lifecycle(lifecycle); err != nil {
			return &guestError{fmt.Errorf("%w: sub-handlers of %s: %w", abi.ErrGuest, loggers.Quote(t.Handler.ID), err)}
		}
	}
	if err := t.runDeclared(ctx, &x, children); err != nil {
		return &guestError{err} // it is a failure of the parent, not of the cycle
	}
	return nil
}

// maxDepth limits the nesting of sub-handlers: ids and the stack grow with each level. A
// handler that declares itself as its sub-handler would never end.
const maxDepth = 50

// declare makes handlers from declarations of sub-handlers. They get the parent's id as a
// prefix, and run on the parent's instance.
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
		child := &registries.Handler{ID: ids.Generate(spec.ID, t.Handler.ID, ""), Spec: spec, Criteria: criteria}
		child.Starter, child.Asker, child.Index, child.Depth = t.Task, t.Task, i, t.Handler.Depth+1
		child.Fn = fmt.Sprintf("%s/%s", t.Handler.Fn, cmp.Or(spec.Fn, fmt.Sprintf("#%d", i)))
		child.Meter = t.Handler.Meter.Children()
		children[i] = child
	}
	return children, nil
}

// childCost is the approximate memory of a sub-handler in addition to its texts, in bytes.
const childCost = 1 << 10

// charge counts the sub-handlers in the account until the cycle ends.
func (t *Conversation) charge(specs []abi.Handler) error {
	account := t.Cause.Account
	if t.declared += len(specs); t.declared > account.Limits().MaxChildren {
		return account.Refuse(accounts.Children, fmt.Errorf("%w: %d sub-handlers of one call, but the limit MaxChildren is %d: declare fewer of them, or raise the limit with --limit MaxChildren=NUMBER",
			accounts.ErrLimit, t.declared, account.Limits().MaxChildren))
	}
	size := 0
	for i := range specs {
		size += childCost + len(t.Handler.ID) + len(t.Handler.Fn) + textsOf(&specs[i], dicts.Heap)
	}
	return t.Cause.Patch.ChargeDeclared(account, size)
}

// chargeRecord counts the ids of descendants as the record of the handler will have them, in two annotations, encoded, and in
// the body of the request: each ancestor has the ids of all below it.
func (t *Conversation) chargeRecord(subrefs []string) error {
	size := 0
	for _, id := range subrefs {
		size += 4 * len(id)
	}
	return t.Cause.Patch.ChargeDeclared(t.Cause.Account, size)
}

// What a filter of a label and a part of a path take in addition to their texts, in bytes: as the guest declares it, and as it is
// parsed.
const (
	filterCost = 256
	partCost   = 32
)

// textsOf returns the size of the texts in a declaration, in bytes. The values that filters decode have the size that a function gives.
func textsOf(h *abi.Handler, of func(value []byte) int) int {
	size := 2*len(h.ID) + len(h.Fn) + len(h.Param) + of(h.Value) + of(h.Old) + of(h.New)
	for _, filters := range []map[string]abi.Raw{h.Labels, h.Annotations} {
		for key, filter := range filters {
			size += filterCost + len(key) + of(filter)
		}
	}
	for _, name := range h.Field {
		size += partCost + len(name)
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
	known := len(t.subrefs)
	t.subrefs = append(t.subrefs, state.IDs()...)
	for _, done := range outcomes {
		t.subrefs = append(t.subrefs, done.subrefs...)
	}
	if err := t.chargeRecord(t.subrefs[known:]); err != nil {
		t.subrefs = t.subrefs[:known]
		return err
	}
	if !state.Done() {
		t.error = &abi.Error{Kind: abi.ErrorChildren}
		t.childrenDelay = state.Delay(time.Now())
	}
	return nil
}

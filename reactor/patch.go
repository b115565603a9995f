package reactor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/stores"
)

// errTransformation is when a transformation function fails: it is not repeated.
var errTransformation = errors.New("a transformation function")

// patch is what is to be changed on an object by the end of a cycle: fields to
// merge, then transformations on top of them.
//
// Kopf: kopf.Patch (v1.45).
type patch struct {
	merge           stores.Patch
	transformations []transformation

	returned *accounts.Lease // what handlers have returned; nil: nothing yet
	declared *accounts.Lease // their sub-handlers; the same
}

// charge counts what handlers have returned, and what they have declared, until the
// cycle ends.
func (p *patch) charge(account *accounts.Account, returned, declared int) error {
	if p.returned == nil {
		p.returned = accounts.NewLease(account, accounts.Patches, p)
		p.declared = accounts.NewLease(account, accounts.Children, p)
	}
	if err := p.returned.Grow(returned); err != nil {
		return err
	}
	return p.declared.Grow(declared)
}

// transformation edits bodies. It may be repeated with a fresher body, until it
// is released.
type transformation struct {
	// edit gets a copy of the body, and returns the result.
	edit func(ctx context.Context, body dicts.Object) (dicts.Object, error)

	task Task // whose functions these are; nil for our own
}

func newPatch(remaining []transformation) *patch {
	return &patch{transformations: slices.Clip(remaining)}
}

func (p *patch) add(t transformation) { p.transformations = append(p.transformations, t) }

func (p *patch) empty() bool { return p.merge.IsEmpty() && len(p.transformations) == 0 }

// transformed applies the transformations to a body, which stays as it is.
func (p *patch) transformed(ctx context.Context, body dicts.Object) (dicts.Object, error) {
	result := dicts.CloneObject(body)
	for _, transform := range p.transformations {
		next, err := transform.edit(ctx, result)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errTransformation, err)
		}
		result = next
	}
	return result, nil
}

// release lets the tasks go that the transformations have kept, except for the
// first ones, which are kept for the next cycle.
func (p *patch) release(ctx context.Context, kept int) {
	p.returned.Release()
	p.declared.Release()
	for _, transform := range p.transformations[kept:] {
		if transform.task != nil {
			transform.task.Release(ctx)
		}
	}
}

// byTask asks a task that has left transformation functions.
func byTask(task Task) transformation {
	edit := func(ctx context.Context, body dicts.Object) (dicts.Object, error) {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		if raw, err = task.Transform(ctx, raw); err != nil {
			return nil, err
		}
		return dicts.DecodeObject(raw)
	}
	return transformation{edit: edit, task: task}
}

// inPlace is a transformation of our own.
func inPlace(edit func(body dicts.Object, finalizer string) error, finalizer string) transformation {
	return transformation{edit: func(_ context.Context, body dicts.Object) (dicts.Object, error) {
		return body, edit(body, finalizer)
	}}
}

package patching

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/stores"
)

// ErrTransformation is when a transformation function fails: it is not repeated.
var ErrTransformation = errors.New("a transformation function")

// Patch is what is to be changed on an object by the end of a cycle: fields to
// merge, then transformations on top of them.
//
// Kopf: kopf.Patch (v1.45).
type Patch struct {
	Merge           stores.Patch
	Transformations []Transformation

	returned *accounts.Lease // what handlers have returned; nil: nothing yet
	declared *accounts.Lease // their sub-handlers; the same
}

// Charge counts what handlers have returned, and what they have declared, until the
// cycle ends.
func (p *Patch) Charge(account *accounts.Account, returned, declared int) error {
	if p.returned == nil {
		p.returned = accounts.NewLease(account, accounts.Patches, p)
		p.declared = accounts.NewLease(account, accounts.Children, p)
	}
	if err := p.returned.Grow(returned); err != nil {
		return err
	}
	return p.declared.Grow(declared)
}

// Transformation edits bodies. It may be repeated with a fresher body, until it
// is released.
type Transformation struct {
	// Edit gets a copy of the body, and returns the result.
	Edit func(ctx context.Context, body dicts.Object) (dicts.Object, error)

	Task guests.Task // whose functions these are; nil for our own
}

func New(remaining []Transformation) *Patch {
	return &Patch{Transformations: slices.Clip(remaining)}
}

func (p *Patch) Add(t Transformation) { p.Transformations = append(p.Transformations, t) }

func (p *Patch) Empty() bool { return p.Merge.IsEmpty() && len(p.Transformations) == 0 }

// Transformed applies the transformations to a body, which stays as it is.
func (p *Patch) Transformed(ctx context.Context, body dicts.Object) (dicts.Object, error) {
	result := dicts.CloneObject(body)
	for _, transform := range p.Transformations {
		next, err := transform.Edit(ctx, result)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrTransformation, err)
		}
		result = next
	}
	return result, nil
}

// Release lets the tasks go that the transformations have kept, except for the
// first ones, which are kept for the next cycle.
func (p *Patch) Release(ctx context.Context, kept int) {
	p.returned.Release()
	p.declared.Release()
	for _, transform := range p.Transformations[kept:] {
		if transform.Task != nil {
			transform.Task.Release(ctx)
		}
	}
}

// ByTask asks a task that has left transformation functions.
func ByTask(task guests.Task) Transformation {
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
	return Transformation{Edit: edit, Task: task}
}

// InPlace is a transformation of our own.
func InPlace(edit func(body dicts.Object, finalizer string) error, finalizer string) Transformation {
	return Transformation{Edit: func(_ context.Context, body dicts.Object) (dicts.Object, error) {
		return body, edit(body, finalizer)
	}}
}

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

// ErrTransformation means that a transformation function has failed. It is not repeated.
var ErrTransformation = errors.New("a transformation function")

// Patch holds the changes of a cycle to an object: fields to merge, and transformations
// that run afterwards.
//
// Kopf: kopf.Patch (v1.45).
type Patch struct {
	Merge           stores.Patch
	Transformations []Transformation

	returned *accounts.Lease // memory of results of handlers; nil: none yet
	declared *accounts.Lease // memory of declared sub-handlers; nil: none yet
}

// ChargeReturned counts what handlers have returned until the cycle ends.
func (p *Patch) ChargeReturned(account *accounts.Account, bytes int) error {
	return p.charge(&p.returned, account, accounts.Patches, bytes)
}

// ChargeDeclared counts sub-handlers, as they are declared and recorded, until the cycle ends.
func (p *Patch) ChargeDeclared(account *accounts.Account, bytes int) error {
	return p.charge(&p.declared, account, accounts.Children, bytes)
}

// charge counts bytes with a lease, which it makes for the first ones: most handlers of reviews
// return nothing, and declare nothing.
func (p *Patch) charge(lease **accounts.Lease, account *accounts.Account, kind accounts.Kind, bytes int) error {
	if bytes == 0 {
		return nil
	}
	if *lease == nil {
		*lease = accounts.NewLease(account, kind, p)
	}
	return (*lease).Grow(bytes)
}

// Returned is the memory of what handlers have returned so far, in bytes.
func (p *Patch) Returned() int { return p.returned.Size() }

// Transformation edits bodies. It can run again with a newer body until it is released.
type Transformation struct {
	// Edit gets a copy of the body, and returns the result. It calls charge with the bytes that the body and the result of a guest take:
	// with those of a text before the text waits for anything, and with the others before the text is decoded.
	Edit func(ctx context.Context, body dicts.Object, charge Charge) (dicts.Object, error)

	Task guests.Task // the task that owns the functions; nil for the host's transformations
}

// Charge counts bytes until the cycle ends.
//
// Errors: there is no room for them.
type Charge func(account *accounts.Account, bytes int) error

// New makes a patch with transformations of an earlier cycle.
func New(remaining []Transformation) *Patch {
	return &Patch{Transformations: slices.Clip(remaining)}
}

// Add adds a transformation.
func (p *Patch) Add(t Transformation) { p.Transformations = append(p.Transformations, t) }

// Empty reports whether the patch changes nothing.
func (p *Patch) Empty() bool { return p.Merge.IsEmpty() && len(p.Transformations) == 0 }

// Transformed applies the transformations to a copy of a body. Work counts the copying; nil: it counts nowhere.
func (p *Patch) Transformed(ctx context.Context, body dicts.Object, work Work) (result dicts.Object, err error) {
	work.do(ctx, unknown, func() { result = dicts.CloneObject(body) })
	for _, transform := range p.Transformations {
		next, err := transform.Edit(ctx, result, p.ChargeReturned)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrTransformation, err)
		}
		result = next
	}
	return result, nil
}

// Release releases the tasks that the transformations keep, except those of the first kept
// transformations, which stay for the next cycle.
func (p *Patch) Release(ctx context.Context, kept int) {
	p.returned.Release()
	p.declared.Release()
	releaseTasks(ctx, p.Transformations[kept:])
}

// Drop releases the transformations. What the patch has charged still counts.
func (p *Patch) Drop(ctx context.Context) {
	releaseTasks(ctx, p.Transformations)
	p.Transformations = nil
}

func releaseTasks(ctx context.Context, transformations []Transformation) {
	for _, transform := range transformations {
		if transform.Task != nil {
			transform.Task.Release(ctx)
		}
	}
}

// Work runs a function that only computes, for texts of a size, in the computing time of the operator.
type Work func(ctx context.Context, size int, do func())

func (w Work) do(ctx context.Context, size int, do func()) {
	if w == nil {
		do()
		return
	}
	w(ctx, size, do)
}

// unknown is the size of a body whose text is not there, in bytes: it counts, whatever it is.
const unknown = 1 << 20

// ByTask returns the transformation that runs the functions of a task. The account counts its results.
func ByTask(task guests.Task, account *accounts.Account, work Work) Transformation {
	edit := func(ctx context.Context, body dicts.Object, charge Charge) (result dicts.Object, err error) {
		var raw []byte
		work(ctx, unknown, func() { raw, err = json.Marshal(body) })
		if err != nil {
			return nil, err
		}
		sent := len(raw)
		if err := charge(account, sent); err != nil {
			return nil, err
		}
		raw, err = task.Transform(ctx, raw)
		if more := charge(account, len(raw)-sent); err == nil { // of the result in place of the body
			err = more
		}
		if err != nil {
			return nil, err
		}
		work(ctx, len(raw), func() {
			if err = charge(account, dicts.Heap(raw)-len(raw)); err == nil {
				result, err = dicts.DecodeObject(raw)
			}
		})
		return result, err
	}
	return Transformation{Edit: edit, Task: task}
}

// InPlace returns a transformation of the host.
func InPlace(edit func(body dicts.Object, finalizer string) error, finalizer string) Transformation {
	return Transformation{Edit: func(_ context.Context, body dicts.Object, _ Charge) (dicts.Object, error) {
		return body, edit(body, finalizer)
	}}
}

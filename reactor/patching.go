package reactor

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// patch is what is to be changed on an object by the end of a cycle: fields to
// merge, then transformations on top of them.
//
// Kopf: kopf.Patch (v1.45).
type patch struct {
	merge           dicts.Object
	transformations []transformation
}

// transformation edits bodies. It may be repeated with a fresher body, until it
// is released.
type transformation struct {
	// edit gets a copy of the body, and returns the result.
	edit func(ctx context.Context, body dicts.Object) (dicts.Object, error)

	task Task // whose functions these are; nil for our own
}

func newPatch(remaining []transformation) *patch {
	return &patch{merge: dicts.Object{}, transformations: remaining}
}

func (p *patch) add(t transformation) { p.transformations = append(p.transformations, t) }

func (p *patch) empty() bool { return len(p.merge) == 0 && len(p.transformations) == 0 }

// transformed applies the transformations to a body, which stays as it is.
func (p *patch) transformed(ctx context.Context, body dicts.Object) (dicts.Object, error) {
	result := dicts.CloneObject(body)
	for _, transform := range p.transformations {
		next, err := transform.edit(ctx, result)
		if err != nil {
			return nil, fmt.Errorf("a transformation function: %w", err)
		}
		result = next
	}
	return result, nil
}

// release lets the tasks go that the transformations have kept.
func (p *patch) release(ctx context.Context) {
	for _, transform := range p.transformations {
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

// blockDeletion adds the finalizer.
func blockDeletion(finalizer string) transformation {
	return transformation{edit: func(_ context.Context, body dicts.Object) (dicts.Object, error) {
		list, _ := finalizersOf(body)
		return body, dicts.Ensure(body, dicts.Path{"metadata", "finalizers"}, append(list, finalizer))
	}}
}

// allowDeletion removes the finalizer, wherever and however often it is there.
func allowDeletion(finalizer string) transformation {
	return transformation{edit: func(_ context.Context, body dicts.Object) (dicts.Object, error) {
		list, present := finalizersOf(body)
		var kept []any
		for _, item := range list {
			if item != finalizer {
				kept = append(kept, item)
			}
		}
		path := dicts.Path{"metadata", "finalizers"}
		if len(kept) == 0 && present {
			return body, dicts.Remove(body, path)
		}
		if len(kept) == len(list) {
			return body, nil
		}
		return body, dicts.Ensure(body, path, kept)
	}}
}

func finalizersOf(body dicts.Object) (list []any, present bool) {
	value, present := dicts.Lookup(body, "metadata", "finalizers")
	list, _ = value.([]any)
	return list, present
}

package dryrun

import (
	"slices"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// overlay is what an operator would have changed in one object. It is put over each newer
// state of the object, so that changes of others reach the operator as they would.
type overlay struct {
	uid            string
	merge          dicts.Object // all fields but the finalizers
	added, removed []string     // finalizers

	// phantom is the object if it is gone from the cluster, while the operator would still hold
	// it by its finalizer. Nil: it exists.
	phantom dicts.Object

	// released means that the object would be gone: it only waits for a finalizer that the
	// operator has removed.
	released bool
}

// system are fields of the metadata that only the API server writes.
var system = []string{"resourceVersion", "managedFields", "generation", "uid"}

// over returns the object as it would be. It shares values with the real one.
func (o *overlay) over(real dicts.Object) dicts.Object {
	if o == nil {
		return real
	}
	object, _ := dicts.MergePatch(real, o.merge).(dicts.Object)
	list := slices.DeleteFunc(finalizersOf(real), func(name string) bool { return slices.Contains(o.removed, name) })
	for _, name := range o.added {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return withFinalizers(object, list)
}

// take notes the difference of the real object and of the one that would be.
func (o *overlay) take(real, would dicts.Object) {
	o.merge = difference(stripped(real), stripped(would))
	before, after := finalizersOf(real), finalizersOf(would)
	o.added = slices.DeleteFunc(slices.Clone(after), func(name string) bool { return slices.Contains(before, name) })
	o.removed = slices.DeleteFunc(slices.Clone(before), func(name string) bool { return slices.Contains(after, name) })
}

// stripped returns an object without the finalizers, and without what the server writes.
func stripped(object dicts.Object) dicts.Object {
	metadata := dicts.Object{}
	for key, value := range dicts.LookupObject(object, "metadata") {
		if key != "finalizers" && !slices.Contains(system, key) {
			metadata[key] = value
		}
	}
	return with(object, "metadata", metadata)
}

// with returns an object with another value of a key.
func with(object dicts.Object, key string, value any) dicts.Object {
	changed := dicts.Object{key: value}
	for other, kept := range object {
		if other != key {
			changed[other] = kept
		}
	}
	return changed
}

func withFinalizers(object dicts.Object, names []string) dicts.Object {
	metadata := dicts.Object{}
	for key, value := range dicts.LookupObject(object, "metadata") {
		metadata[key] = value
	}
	delete(metadata, "finalizers")
	if len(names) > 0 {
		metadata["finalizers"] = dicts.List(names)
	}
	return with(object, "metadata", metadata)
}

// finalizersOf returns a list that the caller may change.
func finalizersOf(object dicts.Object) []string {
	value, _ := dicts.Lookup(object, "metadata", "finalizers")
	list, _ := value.([]any)
	var names []string
	for _, item := range list {
		if name, ok := item.(string); ok {
			names = append(names, name)
		}
	}
	return names
}

// isVanishing reports whether the API server would remove the object.
func isVanishing(object dicts.Object) bool {
	_, deleting := dicts.Lookup(object, "metadata", "deletionTimestamp")
	return deleting && len(finalizersOf(object)) == 0
}

package causes

import (
	"slices"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// DeletionOngoing reports whether the object is marked for deletion.
func DeletionOngoing(body dicts.Object) bool {
	mark, _ := dicts.Lookup(body, "metadata", "deletionTimestamp")
	return mark != nil
}

// DeletionBlocked reports whether the object has the operator's finalizer. The object then
// exists until the operator removes the finalizer.
func DeletionBlocked(body dicts.Object, finalizer string) bool {
	return slices.Contains(finalizersOf(body), any(finalizer))
}

// BlockDeletion adds the finalizer to the body, unless it is there already.
func BlockDeletion(body dicts.Object, finalizer string) error {
	list := finalizersOf(body)
	if slices.Contains(list, any(finalizer)) {
		return nil
	}
	return dicts.Ensure(body, finalizersPath, append(slices.Clone(list), finalizer))
}

// AllowDeletion removes every occurrence of the finalizer from the body. It also removes
// the list of finalizers if the list is then empty.
func AllowDeletion(body dicts.Object, finalizer string) error {
	if _, present := dicts.Lookup(body, finalizersPath...); !present {
		return nil
	}
	kept := slices.DeleteFunc(slices.Clone(finalizersOf(body)), func(item any) bool { return item == any(finalizer) })
	if len(kept) == 0 {
		return dicts.Remove(body, finalizersPath)
	}
	return dicts.Ensure(body, finalizersPath, kept)
}

// IsReleased reports whether an object is marked for deletion and has no finalizers: it is
// about to disappear.
func IsReleased(body dicts.Object) bool {
	return DeletionOngoing(body) && len(finalizersOf(body)) == 0
}

var finalizersPath = dicts.Path{"metadata", "finalizers"}

func finalizersOf(body dicts.Object) []any {
	value, _ := dicts.Lookup(body, finalizersPath...)
	list, _ := value.([]any)
	return list
}

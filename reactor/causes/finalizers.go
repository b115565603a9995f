package causes

import (
	"slices"
	"strconv"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// DeletionOngoing tells whether the object is marked for deletion.
func DeletionOngoing(body dicts.Object) bool {
	mark, _ := dicts.Lookup(body, "metadata", "deletionTimestamp")
	return mark != nil
}

// DeletionBlocked tells whether the object has our finalizer, so that it stays
// until we take it away.
func DeletionBlocked(body dicts.Object, finalizer string) bool {
	return slices.Contains(finalizersOf(body), any(finalizer))
}

// PatchOp is one operation of a JSON patch (RFC 6902).
type PatchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"` // for "add"
}

const finalizersPath = "/metadata/finalizers"

// BlockDeletion is the JSON patch that adds our finalizer. It is empty if the
// object has it already.
//
// Assumptions: the patch is right for this version of the object only, so send
// it with a test of the resourceVersion. The object has metadata.
func BlockDeletion(body dicts.Object, finalizer string) []PatchOp {
	list, exists := dicts.Lookup(body, "metadata", "finalizers")
	switch finalizers, _ := list.([]any); {
	case !exists || list == nil:
		return []PatchOp{{Op: "add", Path: finalizersPath, Value: []any{finalizer}}}
	case slices.Contains(finalizers, any(finalizer)):
		return nil
	default:
		return []PatchOp{{Op: "add", Path: itemPath(len(finalizers)), Value: finalizer}}
	}
}

// AllowDeletion is the JSON patch that removes our finalizer, all occurrences of
// it, and the list of finalizers if it is empty then. The assumptions are those
// of BlockDeletion.
func AllowDeletion(body dicts.Object, finalizer string) []PatchOp {
	list, exists := dicts.Lookup(body, "metadata", "finalizers")
	if !exists {
		return nil
	}
	finalizers, _ := list.([]any)
	var ops []PatchOp
	kept := 0
	for _, item := range finalizers {
		if item == any(finalizer) {
			// Those before are gone when this operation is applied.
			ops = append(ops, PatchOp{Op: "remove", Path: itemPath(kept)})
		} else {
			kept++
		}
	}
	if kept == 0 {
		return []PatchOp{{Op: "remove", Path: finalizersPath}}
	}
	return ops
}

func itemPath(index int) string { return finalizersPath + "/" + strconv.Itoa(index) }

func finalizersOf(body dicts.Object) []any {
	value, _ := dicts.Lookup(body, "metadata", "finalizers")
	list, _ := value.([]any)
	return list
}

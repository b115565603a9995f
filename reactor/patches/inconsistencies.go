package patches

import (
	"slices"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/diffs"
)

// vanishing are the fields that the API server removes when they are empty.
var vanishing = []dicts.Path{
	{"metadata", "annotations"},
	{"metadata", "finalizers"},
	{"metadata", "labels"},
}

// Inconsistencies returns the fields of a merge patch that the resulting body lacks. Most
// of them are unknown to the schema, so the API server has pruned them without an error. A
// nil result means that the object is gone, which is not an inconsistency.
//
// Kopf: kopf._core.actions.application.patch_and_check.
func Inconsistencies(patch, result dicts.Object) diffs.Diff {
	if result == nil {
		return nil
	}
	return slices.DeleteFunc(diffs.Compute(patch, result, diffs.Left), func(item diffs.Item) bool {
		return isEmpty(item.Old) && isEmpty(item.New) && isVanishing(item.Path)
	})
}

func isVanishing(path dicts.Path) bool {
	return slices.ContainsFunc(vanishing, func(known dicts.Path) bool { return slices.Equal(known, path) })
}

func isEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case dicts.Object:
		return len(value) == 0
	case []any:
		return len(value) == 0
	default:
		return false
	}
}

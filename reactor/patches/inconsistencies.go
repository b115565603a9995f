package patches

import (
	"slices"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/diffs"
)

// vanishing are the fields that the API server removes when they become empty.
var vanishing = []dicts.Path{
	{"metadata", "annotations"},
	{"metadata", "finalizers"},
	{"metadata", "labels"},
}

// Inconsistencies finds what a merge patch wanted and the resulting body does
// not have: mostly fields that the schema does not know, so that they were
// pruned without an error. An absent result (nil) is an object that is gone,
// which is no inconsistency.
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

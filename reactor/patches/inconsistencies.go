package patches

import (
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/diffs"
)

// vanishing are the fields that the API server removes when they are empty.
var vanishing = []dicts.Path{
	{"metadata", "annotations"},
	{"metadata", "finalizers"},
	{"metadata", "labels"},
}

// Confirmed returns the version of the object in an answer to a merge patch, if the answer
// certainly has what Inconsistencies looks for, and the object is not being deleted. It
// decodes nothing.
func Confirmed(patch dicts.Object, answer []byte) (version string, ok bool) {
	deleted := false
	ok = dicts.Covers(answer, patch, func(parent, key, value string) {
		switch {
		case parent != "metadata":
		case key == "resourceVersion":
			version = value
		case key == "deletionTimestamp":
			deleted = true
		}
	})
	inside, found := strings.CutPrefix(version, `"`)
	inside, closed := strings.CutSuffix(inside, `"`)
	ok = ok && !deleted && found && closed && strings.IndexByte(inside, '\\') < 0
	return strings.Clone(inside), ok
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

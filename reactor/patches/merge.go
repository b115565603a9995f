// Package patches makes and combines the patches that a cycle writes: merge patches (RFC
// 7386) for what handlers and the framework set, and JSON patches (RFC 6902) for what must
// not overwrite concurrent changes. It is pure.
//
// Kopf: kopf._cogs.structs.patches (v1.45).
package patches

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Apply returns the body after a merge patch, as mutating webhooks apply it: they answer with
// the Diff of both. It does not change the body it gets. As in Kopf, it differs from RFC 7386:
// it removes objects that become empty by a removal, does not add empty objects, and adds
// nothing to values that are not objects.
//
// Errors: dicts.ErrNotObject, if a field is in a value that is not an object.
//
// Kopf: kopf.Patch.as_json_patch.
func Apply(body, patch dicts.Object) (dicts.Object, error) {
	wanted := dicts.CloneObject(body)
	if wanted == nil {
		wanted = dicts.Object{}
	}
	if err := applyFields(wanted, nil, patch); err != nil {
		return nil, fmt.Errorf("the patch does not fit the object: %w", err)
	}
	return wanted, nil
}

func applyFields(body dicts.Object, path dicts.Path, patch dicts.Object) error {
	for _, key := range slices.Sorted(maps.Keys(patch)) {
		if err := applyField(body, append(slices.Clip(path), key), patch[key]); err != nil {
			return err
		}
	}
	return nil
}

func applyField(body dicts.Object, path dicts.Path, value any) error {
	switch value := value.(type) {
	case nil:
		return dicts.Remove(body, path)
	case dicts.Object:
		return applyFields(body, path, value)
	default:
		return dicts.Ensure(body, path, dicts.Clone(value))
	}
}

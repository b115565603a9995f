// Package patches makes and combines the patches that a cycle writes: merge
// patches (RFC 7386) for what handlers and the framework set, JSON patches (RFC
// 6902) for what must not overwrite the changes of others. It is pure.
//
// Kopf: kopf._cogs.structs.patches (v1.45).
package patches

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Merge adds a merge patch to another one, the target, as if both were applied
// one after the other. Nulls are kept, since they are what removes a field.
// What is taken over is copied, so the patch can be used further.
//
// Caveats: to remove a field and then to set an object there takes two merge
// patches. In one, the object is merged into what the field has held before.
//
// See https://www.rfc-editor.org/rfc/rfc7386
func Merge(target, patch dicts.Object) {
	for key, value := range patch {
		part, isObject := value.(dicts.Object)
		inner, wasObject := target[key].(dicts.Object)
		if isObject && wasObject {
			Merge(inner, part)
			continue
		}
		target[key] = dicts.Clone(value)
	}
}

// Apply returns the body with a merge patch applied, as the API server does it:
// nulls remove fields, objects are merged, everything else is replaced. Neither
// argument is changed; the result shares with them what is equal.
//
// See https://www.rfc-editor.org/rfc/rfc7386
func Apply(body, patch dicts.Object) dicts.Object {
	result := maps.Clone(body)
	if result == nil {
		result = dicts.Object{}
	}
	for key, value := range patch {
		switch value := value.(type) {
		case nil:
			delete(result, key)
		case dicts.Object:
			inner, _ := result[key].(dicts.Object)
			result[key] = Apply(inner, value)
		default:
			result[key] = value
		}
	}
	return result
}

// FromMerge makes the JSON patch that a merge patch means for this body: the
// answer of mutating webhooks. It differs from Diff after Apply in the ways of
// the reference: objects that become empty by a removal are removed, too, empty
// objects are not added, and nothing is put into what is no object.
//
// Errors: dicts.ErrNotObject, if a field is in something that is no object.
//
// Kopf: kopf.Patch.as_json_patch.
func FromMerge(body, patch dicts.Object) ([]Operation, error) {
	wanted := dicts.CloneObject(body)
	if wanted == nil {
		wanted = dicts.Object{}
	}
	if err := applyFields(wanted, nil, patch); err != nil {
		return nil, fmt.Errorf("the patch does not fit the object: %w", err)
	}
	return Diff(body, wanted), nil
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

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
	m := merging{root: dicts.CloneObject(body)}
	if m.root == nil {
		m.root = dicts.Object{}
	}
	if _, err := m.fields(m.root, patch, nil); err != nil {
		return nil, fmt.Errorf("the patch does not fit the object: %w", err)
	}
	return m.root, nil
}

// merging walks an object and a merge patch for it side by side: its time is linear, however
// deep both are nested.
type merging struct {
	root dicts.Object
}

// fields merges a part of a patch into the object at the path. It reports whether the part
// removes a field, because then an object that is empty afterwards goes, too.
func (m *merging) fields(target, patch dicts.Object, path dicts.Path) (removes bool, err error) {
	for _, key := range slices.Sorted(maps.Keys(patch)) {
		part, nested := patch[key].(dicts.Object)
		switch {
		case patch[key] == nil:
			delete(target, key)
			removes = true
		case nested:
			below, err := m.field(target, key, part, append(path, key))
			if err != nil {
				return false, err
			}
			removes = removes || below
		default:
			target[key] = dicts.Clone(patch[key])
		}
	}
	return removes, nil
}

// field merges a part of a patch into one field, whose path is given.
func (m *merging) field(target dicts.Object, key string, part dicts.Object, path dicts.Path) (removes bool, err error) {
	value, exists := target[key]
	if !exists {
		value = dicts.Object{}
	}
	child, ok := value.(dicts.Object)
	if !ok {
		return false, m.refuse(part, path)
	}
	if removes, err = m.fields(child, part, path); err != nil {
		return false, err
	}
	switch {
	case exists && removes && len(child) == 0:
		delete(target, key)
	case !exists && len(child) > 0:
		target[key] = child
	}
	return removes, nil
}

// refuse is the error of the first field of a part whose parent is not an object. A part
// without fields has no error.
func (m *merging) refuse(part dicts.Object, path dicts.Path) error {
	for _, key := range slices.Sorted(maps.Keys(part)) {
		path := append(path, key)
		var err error
		switch value := part[key].(type) {
		case nil:
			err = dicts.Remove(m.root, path)
		case dicts.Object:
			err = m.refuse(value, path)
		default:
			err = dicts.Ensure(m.root, path, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

package stores

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// kubectlAnnotation repeats the whole object, so its changes say nothing.
const kubectlAnnotation = "kubectl.kubernetes.io/last-applied-configuration"

// BuildEssence extracts from a body what counts as a change of the object. All diff-base
// storages do this; custom storages can call it:
//
//   - everything except apiVersion, kind, metadata and status,
//   - labels and annotations, but neither kubectl's last configuration nor the
//     annotations of other operators of this kind,
//   - the extra fields, whatever they are,
//   - less the ignored fields.
//
// Empty labels, annotations, metadata and status are left out. The result
// shares fields with the body, but not the metadata and the status: callers change nothing
// inside of other fields.
//
// Errors: dicts.ErrNotObject if the metadata or a parent of an extra field is not an object.
//
// Kopf: kopf.DiffBaseStorage.build.
func BuildEssence(body Object, extraFields, ignoredFields []Path) (Object, error) {
	essence := Object{}
	for key, value := range body {
		if !isSystem(key) {
			essence[key] = value
		}
	}
	metadata := []Path{{"metadata", "labels"}, {"metadata", "annotations"}}
	if err := copyFields(body, essence, metadata); err != nil {
		return nil, err
	}
	if err := removeForeignAnnotations(essence); err != nil {
		return nil, err
	}
	if err := copyFields(body, essence, extraFields); err != nil {
		return nil, err
	}
	if err := removeEmptyStanzas(essence); err != nil {
		return nil, err
	}
	for _, path := range ignoredFields {
		err := removeField(essence, path)
		if err != nil && !errors.Is(err, dicts.ErrNotObject) {
			return nil, fmt.Errorf("ignoring a field: %w", err)
		}
	}
	return essence, nil
}

// isSystem reports whether a field of the first level is no part of the essence as a whole.
func isSystem(key string) bool {
	switch key {
	case "apiVersion", "kind", "metadata", "status":
		return true
	}
	return false
}

// removeField removes a field from an essence. It copies the objects around the field,
// because the essence shares them with the body.
func removeField(essence Object, path Path) error {
	inner := essence
	for _, key := range path[:max(0, len(path)-1)] {
		parent, ok := dicts.Open(inner[key]).(Object)
		if !ok {
			break
		}
		parent = maps.Clone(parent)
		inner[key], inner = parent, parent
	}
	return dicts.Remove(essence, path)
}

// copyFields copies the existing fields that the essence does not share with the body.
func copyFields(from, to Object, paths []Path) error {
	for _, path := range paths {
		value, ok, err := dicts.Resolve(from, path)
		if err == nil && ok && (len(path) == 0 || isSystem(path[0])) {
			err = dicts.Ensure(to, path, dicts.Clone(value))
		}
		if err != nil {
			return fmt.Errorf("taking the field %s into the essence: %w", path, err)
		}
	}
	return nil
}

// removeForeignAnnotations removes the annotations that are never a part of the essence.
func removeForeignAnnotations(essence Object) error {
	value, ok := dicts.Lookup(essence, "metadata", "annotations")
	if !ok {
		return nil
	}
	annotations, ok := value.(Object)
	if !ok {
		return fmt.Errorf("metadata.annotations: %w", dicts.ErrNotObject)
	}
	marked := markedPrefixes(annotations)
	maps.DeleteFunc(annotations, func(key string, _ any) bool {
		return key == kubectlAnnotation || isManaged(key, marked)
	})
	return nil
}

// removeAnnotations removes annotations by key.
func removeAnnotations(essence Object, drop func(key string) bool) {
	maps.DeleteFunc(annotationsOf(essence), func(key string, _ any) bool { return drop(key) })
}

// removeEmptyStanzas removes empty system stanzas.
func removeEmptyStanzas(essence Object) error {
	if value, ok := essence["metadata"]; ok {
		metadata, isObject := value.(Object)
		if !isObject {
			return fmt.Errorf("metadata: %w", dicts.ErrNotObject)
		}
		for _, stanza := range []string{"annotations", "labels"} {
			if isEmpty(metadata[stanza]) {
				delete(metadata, stanza)
			}
		}
	}
	for _, stanza := range []string{"metadata", "status"} {
		if isEmpty(essence[stanza]) {
			delete(essence, stanza)
		}
	}
	return nil
}

// isEmpty reports whether Python considers the value false.
func isEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case Object:
		return len(value) == 0
	case []any:
		return len(value) == 0
	case string:
		return value == ""
	case bool, json.Number:
		return dicts.Equal(value, false) // zero is equal to false
	default:
		return false
	}
}

// appendEssence encodes the essence with the keys in the reference's order: first in the
// order of the body, which API servers sort, then the fields from metadata and status.
func appendEssence(out []byte, essence Object) []byte {
	members := orderedMembers(essence, nil, []string{"metadata", "status"})
	for i, member := range members {
		if metadata, ok := member.Value.(Object); ok && member.Key == "metadata" && !isWholeMetadata(metadata) {
			members[i].Value = orderedMembers(metadata, []string{"labels", "annotations"}, nil)
		}
	}
	return dicts.Append(out, members)
}

// isWholeMetadata reports whether the essence has all metadata, because a handler watches
// that field. The metadata then keep the order of the body.
func isWholeMetadata(metadata Object) bool {
	_, hasUID := metadata["uid"]
	_, hasVersion := metadata["resourceVersion"]
	return hasUID || hasVersion
}

// orderedMembers sorts the keys of an object, except for the first and the last ones.
func orderedMembers(obj Object, first, last []string) dicts.Members {
	rank := func(key string) int {
		if i := slices.Index(first, key); i >= 0 {
			return i - len(first)
		}
		return slices.Index(last, key) + 1
	}
	keys := slices.SortedFunc(maps.Keys(obj), func(a, b string) int {
		if ra, rb := rank(a), rank(b); ra != rb {
			return ra - rb
		}
		return strings.Compare(a, b)
	})
	members := make(dicts.Members, len(keys))
	for i, key := range keys {
		members[i] = dicts.Member{Key: key, Value: obj[key]}
	}
	return members
}

package stores

import (
	"encoding/json"
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
	if err := copyMetadata(body, essence); err != nil {
		return nil, err
	}
	if err := copyFields(body, essence, extraFields); err != nil {
		return nil, err
	}
	if err := removeEmptyStanzas(essence); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(ignoredFields, func(path Path) bool { return len(path) == 0 }) {
		return nil, fmt.Errorf("ignoring a field: %w", dicts.ErrRoot)
	}
	removeFields(essence, ignoredFields)
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

// removeFields removes fields as removeField does, but what leads through other values. It copies
// each object around them once.
func removeFields(from Object, paths []Path) {
	var inside map[string][]Path
	for _, path := range paths {
		if len(path) == 1 {
			delete(from, path[0])
			continue
		}
		if inside == nil {
			inside = map[string][]Path{}
		}
		inside[path[0]] = append(inside[path[0]], path[1:])
	}
	for key, rest := range inside {
		child, ok := dicts.Open(from[key]).(Object)
		if !ok {
			continue
		}
		child = maps.Clone(child)
		removeFields(child, rest)
		if from[key] = child; len(child) == 0 {
			delete(from, key)
		}
	}
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

// copyMetadata copies the labels, and the annotations that can be a part of the essence. It
// copies no empty ones.
func copyMetadata(from, to Object) error {
	var own Object
	for _, stanza := range [...]string{"labels", "annotations"} {
		value, ok, err := dicts.Resolve(from, Path{"metadata", stanza})
		if err != nil {
			return fmt.Errorf("taking the field metadata.%s into the essence: %w", stanza, err)
		}
		if !ok {
			continue
		}
		if stanza == "annotations" {
			annotations, ok := value.(Object)
			if !ok {
				return fmt.Errorf("metadata.annotations: %w", dicts.ErrNotObject)
			}
			value = copyUnlessForeign(annotations)
		} else {
			value = dicts.Clone(value)
		}
		if isEmpty(value) {
			continue
		}
		if own == nil {
			own = Object{}
		}
		own[stanza] = value
	}
	if own != nil {
		to["metadata"] = own
	}
	return nil
}

// copyUnlessForeign copies the annotations, except those that are never a part of the essence.
func copyUnlessForeign(annotations Object) Object {
	var rest Object
	marked := markedPrefixes(annotations)
	for key, value := range annotations {
		if key == kubectlAnnotation || isManaged(key, marked) {
			continue
		}
		if rest == nil {
			rest = Object{}
		}
		rest[key] = dicts.Clone(dicts.Open(value))
	}
	return rest
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

// appendEssence encodes the essence with the keys in Kopf's order: first in the
// order of the body, which API servers sort, then the fields from metadata and status.
func appendEssence(out []byte, essence Object) []byte {
	var few [16]string // on the stack: most objects have no more keys
	out = append(out, '{')
	for i, key := range orderedKeys(few[:0], essence, nil, []string{"metadata", "status"}) {
		out = appendKey(out, i, key)
		if metadata, ok := essence[key].(Object); ok && key == "metadata" && !isWholeMetadata(metadata) {
			out = appendMetadata(out, metadata)
			continue
		}
		out = dicts.Append(out, essence[key])
	}
	return append(out, '}')
}

func appendMetadata(out []byte, metadata Object) []byte {
	var few [4]string
	out = append(out, '{')
	for i, key := range orderedKeys(few[:0], metadata, []string{"labels", "annotations"}, nil) {
		out = dicts.Append(appendKey(out, i, key), metadata[key])
	}
	return append(out, '}')
}

func appendKey(out []byte, index int, key string) []byte {
	if index > 0 {
		out = append(out, ',')
	}
	return append(dicts.Append(out, key), ':')
}

// isWholeMetadata reports whether the essence has all metadata, because a handler watches
// that field. The metadata then keep the order of the body.
func isWholeMetadata(metadata Object) bool {
	_, hasUID := metadata["uid"]
	_, hasVersion := metadata["resourceVersion"]
	return hasUID || hasVersion
}

// orderedKeys appends the keys of an object, sorted except for the first and the last ones.
func orderedKeys(keys []string, obj Object, first, last []string) []string {
	rank := func(key string) int {
		if i := slices.Index(first, key); i >= 0 {
			return i - len(first)
		}
		return slices.Index(last, key) + 1
	}
	for key := range obj {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if ra, rb := rank(a), rank(b); ra != rb {
			return ra - rb
		}
		return strings.Compare(a, b)
	})
	return keys
}

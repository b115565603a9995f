package stores

import (
	"fmt"
	"strings"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// managedMarker is an annotation that marks its prefix: all annotations with this prefix
// belong to an operator of this kind, and are not changes of the object.
const managedMarker = "kopf-managed"

// annotationsOf returns the annotations of an object, or nil.
func annotationsOf(obj Object) Object {
	return dicts.LookupObject(obj, "metadata", "annotations")
}

// annotationPath is the path of an annotation in a body or in a patch.
func annotationPath(key string) Path { return Path{"metadata", "annotations", key} }

// fetchAnnotation decodes the first existing annotation among the keys. It returns nil if
// none exists, or if the value is the JSON null.
func fetchAnnotation(body Object, keys []string) (doc any, key string, err error) {
	annotations := annotationsOf(body)
	for _, key := range keys {
		value := dicts.Open(annotations[key])
		if value == nil {
			continue
		}
		text, ok := value.(string)
		if !ok {
			return nil, key, corruptedAnnotation(key, fmt.Errorf("%s is not a string", dicts.Encode(value)))
		}
		doc, err := dicts.Decode([]byte(text))
		if err != nil {
			return nil, key, corruptedAnnotation(key, err)
		}
		if doc != nil {
			return doc, key, nil
		}
	}
	return nil, "", nil
}

// storeAnnotations sets all keys to the text.
func storeAnnotations(patch *Patch, keys []string, text string) error {
	for _, key := range keys {
		if err := patch.Set(annotationPath(key), text); err != nil {
			return fmt.Errorf("patching the annotation %s: %w", key, err)
		}
	}
	return nil
}

// storeMarker marks the prefix for other operators of this kind, unless the prefix is a
// known one or the marker exists.
func storeMarker(prefix string, body Object, patch *Patch) error {
	marker := prefix + "/" + managedMarker
	_, inBody := annotationsOf(body)[marker]
	_, inPatch := annotationsOf(patch.Object())[marker]
	if strings.HasPrefix(prefix, "kopf.") || inBody || inPatch {
		return nil
	}
	return storeAnnotations(patch, []string{marker}, "yes")
}

// purgeField deletes a field by the patch if the body has it. Otherwise, it removes the
// field from the patch.
func purgeField(body Object, patch *Patch, path Path) error {
	if _, inBody := dicts.Lookup(body, path...); inBody {
		return patch.Set(path, nil)
	}
	if _, inPatch := patch.Lookup(path...); inPatch {
		return patch.Remove(path)
	}
	return nil
}

// isManaged reports whether an annotation belongs to an operator of this kind, given the set
// of marked prefixes.
func isManaged(annotation string, marked map[string]bool) bool {
	prefix, _, ok := strings.Cut(annotation, "/")
	if !ok {
		return false
	}
	return marked[prefix] || prefix == DefaultPrefix || strings.HasSuffix(prefix, "."+DefaultPrefix)
}

// markedPrefixes returns the prefixes with markers.
func markedPrefixes(annotations Object) map[string]bool {
	var marked map[string]bool
	for annotation := range annotations {
		if prefix, name, ok := strings.Cut(annotation, "/"); ok && name == managedMarker {
			if marked == nil {
				marked = map[string]bool{}
			}
			marked[prefix] = true
		}
	}
	return marked
}

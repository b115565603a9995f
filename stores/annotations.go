package stores

import (
	"fmt"
	"strings"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// managedMarker is the annotation under a prefix that says: all annotations with
// this prefix belong to an operator of this kind, do not take them for changes.
const managedMarker = "kopf-managed"

// annotationsOf gives the annotations of an object; nil if there are none.
func annotationsOf(obj Object) Object {
	return dicts.LookupObject(obj, "metadata", "annotations")
}

// annotationPath is where an annotation is in a body or in a patch.
func annotationPath(key string) Path { return Path{"metadata", "annotations", key} }

// fetchAnnotation decodes the first annotation of the keys that exists. It is
// nil if none does, or if they hold the JSON null.
func fetchAnnotation(body Object, keys []string) (doc any, key string, err error) {
	annotations := annotationsOf(body)
	for _, key := range keys {
		value := annotations[key]
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

// storeAnnotations sets all the keys to the text.
func storeAnnotations(patch *Patch, keys []string, text string) error {
	for _, key := range keys {
		if err := patch.Set(annotationPath(key), text); err != nil {
			return fmt.Errorf("patching the annotation %s: %w", key, err)
		}
	}
	return nil
}

// storeMarker makes the prefix known to other operators of this kind, unless its
// name tells it already, or the marker is there.
func storeMarker(prefix string, body Object, patch *Patch) error {
	marker := prefix + "/" + managedMarker
	_, inBody := annotationsOf(body)[marker]
	_, inPatch := annotationsOf(patch.Object())[marker]
	if strings.HasPrefix(prefix, "kopf.") || inBody || inPatch {
		return nil
	}
	return storeAnnotations(patch, []string{marker}, "yes")
}

// purgeField deletes a field by the patch if the body has it. Otherwise it takes
// the field out of the patch.
func purgeField(body Object, patch *Patch, path Path) error {
	if _, inBody := dicts.Lookup(body, path...); inBody {
		return patch.Set(path, nil)
	}
	if _, inPatch := patch.Lookup(path...); inPatch {
		return patch.Remove(path)
	}
	return nil
}

// isManaged tells whether an annotation belongs to an operator of this kind,
// whose markers make up the set of prefixes.
func isManaged(annotation string, marked map[string]bool) bool {
	prefix, _, ok := strings.Cut(annotation, "/")
	if !ok {
		return false
	}
	return marked[prefix] || prefix == DefaultPrefix || strings.HasSuffix(prefix, "."+DefaultPrefix)
}

// markedPrefixes collects the prefixes with markers.
func markedPrefixes(annotations Object) map[string]bool {
	marked := map[string]bool{}
	for annotation := range annotations {
		if prefix, name, ok := strings.Cut(annotation, "/"); ok && name == managedMarker {
			marked[prefix] = true
		}
	}
	return marked
}

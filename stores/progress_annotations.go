package stores

import (
	"cmp"
	"strings"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// DefaultTouchKey is the default name of the annotation for changes without a meaning.
const DefaultTouchKey = "touch-dummy"

// AnnotationsProgressOptions are the options of AnnotationsProgress. The zero
// value is Kopf's default.
type AnnotationsProgressOptions struct {
	Prefix   string // of all annotations; empty is DefaultPrefix
	TouchKey string // the name for Touch; empty is DefaultTouchKey
	Verbose  bool   // write absent fields as null
	NoV1     bool   // neither read nor write the keys of old versions of Kopf
}

// AnnotationsProgress keeps records as JSON in annotations, one per handler.
//
// Kopf: kopf.AnnotationsProgressStorage.
type AnnotationsProgress struct {
	naming  Naming
	touches fixedKeys
	verbose bool
}

var _ ProgressStorage = (*AnnotationsProgress)(nil)

// NewAnnotationsProgress creates the storage.
func NewAnnotationsProgress(o AnnotationsProgressOptions) *AnnotationsProgress {
	naming := namingOrDefault(o.Prefix, o.NoV1)
	return &AnnotationsProgress{
		naming:  naming,
		touches: naming.fixed(cmp.Or(o.TouchKey, DefaultTouchKey)),
		verbose: o.Verbose,
	}
}

// Fetch reads the first existing annotation among the handler's keys.
func (s *AnnotationsProgress) Fetch(body Object, id string) (*Record, error) {
	doc, key, err := fetchAnnotation(body, s.naming.Keys(id, body))
	if doc == nil || err != nil {
		return nil, err
	}
	record, err := DecodeRecord(doc)
	if err != nil {
		return nil, corruptedAnnotation(key, err)
	}
	return record, nil
}

// Store writes the annotations of all keys, and marks a custom prefix.
func (s *AnnotationsProgress) Store(id string, record Record, body Object, patch *Patch) error {
	if err := storeAnnotations(patch, s.naming.Keys(id, body), record.Encode(s.verbose)); err != nil {
		return err
	}
	return storeMarker(s.naming.prefix, body, patch)
}

// settle implements settler. Without metadata in the patch, and without the annotation on the
// object, a record that is stored and then purged leaves nothing but the places of its parents.
func (s *AnnotationsProgress) settle(id string, body Object, patch *Patch) error {
	for _, key := range s.naming.Keys(id, body) {
		if _, inPatch := patch.root["metadata"]; !inPatch && annotationsOf(body)[key] == nil {
			patch.reserve("metadata", "annotations")
		} else if err := storeAnnotations(patch, []string{key}, ""); err != nil {
			return err
		}
	}
	return storeMarker(s.naming.prefix, body, patch)
}

// Purge deletes the annotations of all keys.
func (s *AnnotationsProgress) Purge(id string, body Object, patch *Patch) error {
	for _, key := range s.naming.Keys(id, body) {
		if err := purgeField(body, patch, annotationPath(key)); err != nil {
			return err
		}
	}
	return nil
}

// Touch sets an annotation that has no meaning.
func (s *AnnotationsProgress) Touch(body Object, patch *Patch, value *string) error {
	for _, key := range s.touches.of(body) {
		if dicts.Equal(annotationsOf(body)[key], valueOf(value)) {
			continue
		}
		if err := patch.Set(annotationPath(key), valueOf(value)); err != nil {
			return err
		}
		if err := storeMarker(s.naming.prefix, body, patch); err != nil {
			return err
		}
	}
	return nil
}

// Clear removes all annotations with the prefix.
func (s *AnnotationsProgress) Clear(essence Object) (Object, error) {
	removeAnnotations(essence, func(key string) bool {
		return strings.HasPrefix(key, s.naming.prefix+"/")
	})
	return essence, removeEmptyStanzas(essence)
}

// Flush does nothing, because the patch holds all changes.
func (s *AnnotationsProgress) Flush() error { return nil }

func namingOrDefault(prefix string, noV1 bool) Naming {
	return Naming{prefix: cmp.Or(prefix, DefaultPrefix), v1: !noV1}
}

package stores

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// DefaultDiffBaseKey is the default name of the annotation with the essence.
const DefaultDiffBaseKey = "last-handled-configuration"

// AnnotationsDiffBaseOptions are the options of AnnotationsDiffBase. The zero
// value is Kopf's default.
type AnnotationsDiffBaseOptions struct {
	Prefix        string // of the annotation; empty is DefaultPrefix
	Key           string // its name; empty is DefaultDiffBaseKey
	IgnoredFields []Path // whose changes are ignored
	NoV1          bool   // neither read nor write the key of old versions of Kopf
}

// AnnotationsDiffBase keeps the essence as JSON in an annotation.
//
// Kopf: kopf.AnnotationsDiffBaseStorage.
type AnnotationsDiffBase struct {
	prefix  string
	keys    fixedKeys
	ignored []Path
}

var (
	_ DiffBaseStorage = (*AnnotationsDiffBase)(nil)
	_ EssenceHolder   = (*AnnotationsDiffBase)(nil)
)

// NewAnnotationsDiffBase creates the storage.
func NewAnnotationsDiffBase(o AnnotationsDiffBaseOptions) *AnnotationsDiffBase {
	naming := namingOrDefault(o.Prefix, o.NoV1)
	return &AnnotationsDiffBase{
		prefix:  naming.prefix,
		keys:    naming.fixed(cmp.Or(o.Key, DefaultDiffBaseKey)),
		ignored: slices.Clone(o.IgnoredFields),
	}
}

// DefaultDiffBaseStorage returns the storage of operators that do not configure one.
func DefaultDiffBaseStorage() DiffBaseStorage {
	return NewAnnotationsDiffBase(AnnotationsDiffBaseOptions{})
}

// Build extracts the essence, without the annotation itself.
func (s *AnnotationsDiffBase) Build(body Object, extraFields []Path) (Object, error) {
	essence, err := BuildEssence(body, extraFields, s.ignored)
	if err != nil {
		return nil, err
	}
	keys := s.keys.of(body)
	removeAnnotations(essence, func(key string) bool { return slices.Contains(keys, key) })
	return essence, removeEmptyStanzas(essence)
}

// Fetch reads the annotation.
func (s *AnnotationsDiffBase) Fetch(body Object) (Object, error) {
	doc, key, err := fetchAnnotation(body, s.keys.of(body))
	if doc == nil || err != nil {
		return nil, err
	}
	essence, ok := doc.(Object)
	if !ok {
		return nil, corruptedAnnotation(key, errNotEssence)
	}
	return essence, nil
}

// Holds compares the text of the annotation with what Store would write.
func (s *AnnotationsDiffBase) Holds(body, essence Object) bool {
	annotations := annotationsOf(body)
	for _, key := range s.keys.of(body) {
		if value := annotations[key]; value != nil {
			text := texts.Get().(*[]byte)
			defer texts.Put(text)
			*text = appendEssenceText((*text)[:0], essence)
			return dicts.IsText(value, *text)
		}
	}
	return false
}

// Store writes the annotation, and marks a custom prefix.
func (s *AnnotationsDiffBase) Store(body Object, patch *Patch, essence Object) error {
	if err := storeAnnotations(patch, s.keys.of(body), essenceText(essence)); err != nil {
		return err
	}
	return storeMarker(s.prefix, body, patch)
}

// essenceText is the value of the annotation.
func essenceText(essence Object) string {
	text := texts.Get().(*[]byte)
	defer texts.Put(text)
	*text = appendEssenceText((*text)[:0], essence)
	return string(*text)
}

// appendEssenceText appends the value of the annotation. It ends with a line break, because
// kubectl shows such annotations as blocks.
func appendEssenceText(out []byte, essence Object) []byte {
	return append(appendEssence(out, essence), '\n')
}

// texts holds buffers for texts that are compared, or copied when their length is known.
var texts = sync.Pool{New: func() any { return new([]byte) }}

var errNotEssence = errors.New("an essence must be an object")

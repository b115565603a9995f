package stores

import (
	"fmt"
	"slices"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// StatusDiffBaseOptions are the options of StatusDiffBase. The zero value is the
// reference's default.
type StatusDiffBaseOptions struct {
	Name          string // empty is DefaultStatusName; unused if the field is given
	Field         Path   // empty is status.<name>.last-handled-configuration
	IgnoredFields []Path // whose changes are ignored
}

// StatusDiffBase keeps the essence as JSON text in a field of the status. It is a text,
// because the API server would merge an object with the existing one.
//
// Kopf: kopf.StatusDiffBaseStorage.
type StatusDiffBase struct {
	field   Path
	ignored []Path
}

var _ DiffBaseStorage = (*StatusDiffBase)(nil)

// NewStatusDiffBase creates the storage.
func NewStatusDiffBase(o StatusDiffBaseOptions) *StatusDiffBase {
	return &StatusDiffBase{
		field:   statusField(o.Field, o.Name, DefaultDiffBaseKey),
		ignored: slices.Clone(o.IgnoredFields),
	}
}

// Build extracts the essence, without the field itself. It fails if the path of the field
// leads through a value that is not an object.
func (s *StatusDiffBase) Build(body Object, extraFields []Path) (Object, error) {
	essence, err := BuildEssence(body, extraFields, s.ignored)
	if err != nil {
		return nil, err
	}
	return essence, removeField(essence, s.field)
}

// Fetch reads the field.
func (s *StatusDiffBase) Fetch(body Object) (Object, error) {
	value, _ := dicts.Lookup(body, s.field...)
	if value == nil {
		return nil, nil
	}
	text, ok := value.(string)
	if !ok {
		return nil, corruptedField(s.field, fmt.Errorf("%s is not a string", dicts.Encode(value)))
	}
	doc, err := dicts.Decode([]byte(text))
	if err != nil {
		return nil, corruptedField(s.field, err)
	}
	essence, ok := doc.(Object)
	if !ok && doc != nil {
		return nil, corruptedField(s.field, errNotEssence)
	}
	return essence, nil
}

// Store writes the field.
func (s *StatusDiffBase) Store(_ Object, patch *Patch, essence Object) error {
	return patch.Set(s.field, string(appendEssence(nil, essence)))
}

package stores

import (
	"cmp"
	"errors"
	"slices"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// DefaultStatusName is the default key under the status.
const DefaultStatusName = "kopf"

// StatusProgressOptions are the options of StatusProgress. The zero value is the
// reference's default.
type StatusProgressOptions struct {
	Name       string // empty is DefaultStatusName; unused if both fields are given
	Field      Path   // of the records by id; empty is status.<name>.progress
	TouchField Path   // the field for Touch; empty is status.<name>.dummy
}

// StatusProgress keeps records as objects in a field of the status.
// The schema of the resource must allow for the field.
//
// Kopf: kopf.StatusProgressStorage.
type StatusProgress struct {
	field      Path
	touchField Path
}

var _ ProgressStorage = (*StatusProgress)(nil)

// NewStatusProgress creates the storage.
func NewStatusProgress(o StatusProgressOptions) *StatusProgress {
	return &StatusProgress{
		field:      statusField(o.Field, o.Name, "progress"),
		touchField: statusField(o.TouchField, o.Name, "dummy"),
	}
}

func statusField(field Path, name, key string) Path {
	if len(field) > 0 {
		return slices.Clone(field)
	}
	return Path{"status", cmp.Or(name, DefaultStatusName), key}
}

// Fetch reads the record from the field.
func (s *StatusProgress) Fetch(body Object, id string) (*Record, error) {
	value, ok := dicts.Lookup(body, s.field...)
	if !ok {
		return nil, nil
	}
	records, ok := value.(Object)
	if !ok {
		return nil, corruptedField(s.field, errors.New("it must be an object of records"))
	}
	if records[id] == nil {
		return nil, nil
	}
	record, err := DecodeRecord(records[id])
	if err != nil {
		return nil, corruptedField(s.of(id), err)
	}
	return record, nil
}

// Store writes the record with nulls, which remove its absent fields from the object.
func (s *StatusProgress) Store(id string, record Record, _ Object, patch *Patch) error {
	return patch.Set(s.of(id), record.Object())
}

// Purge deletes the record.
func (s *StatusProgress) Purge(id string, body Object, patch *Patch) error {
	return purgeField(body, patch, s.of(id))
}

// Touch sets a field that has no meaning.
func (s *StatusProgress) Touch(body Object, patch *Patch, value *string) error {
	if present, _ := dicts.Lookup(body, s.touchField...); dicts.Equal(present, valueOf(value)) {
		return nil
	}
	return patch.Set(s.touchField, valueOf(value))
}

// Clear removes the field of the records. It fails if the path of the field leads through a
// value that is not an object.
func (s *StatusProgress) Clear(essence Object) (Object, error) {
	if err := removeField(essence, s.field); err != nil {
		return nil, err
	}
	return essence, removeEmptyStanzas(essence)
}

// Flush does nothing, because the patch holds all changes.
func (s *StatusProgress) Flush() error { return nil }

// of returns the path of a handler's record.
func (s *StatusProgress) of(id string) Path { return append(slices.Clone(s.field), id) }

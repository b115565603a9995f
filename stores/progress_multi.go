package stores

import "errors"

// MultiProgress keeps records in several storages: it writes all of them, and reads the
// first one with a record. Use it to migrate operators from one storage to another while
// objects are handled.
//
// Kopf: kopf.MultiProgressStorage.
type MultiProgress []ProgressStorage

var _ ProgressStorage = MultiProgress{}

// Fetch reads from the first storage that has the record.
func (m MultiProgress) Fetch(body Object, id string) (*Record, error) {
	for _, s := range m {
		if record, err := s.Fetch(body, id); record != nil || err != nil {
			return record, err
		}
	}
	return nil, nil
}

// Store writes to all storages.
func (m MultiProgress) Store(id string, record Record, body Object, patch *Patch) error {
	return m.each(func(s ProgressStorage) error { return s.Store(id, record, body, patch) })
}

// Purge deletes from all storages.
func (m MultiProgress) Purge(id string, body Object, patch *Patch) error {
	return m.each(func(s ProgressStorage) error { return s.Purge(id, body, patch) })
}

// Touch touches through all storages.
func (m MultiProgress) Touch(body Object, patch *Patch, value *string) error {
	return m.each(func(s ProgressStorage) error { return s.Touch(body, patch, value) })
}

// Clear removes what any of the storages keeps.
func (m MultiProgress) Clear(essence Object) (_ Object, err error) {
	for _, s := range m {
		if essence, err = s.Clear(essence); err != nil {
			return nil, err
		}
	}
	return essence, nil
}

// Flush flushes all storages, also after errors.
func (m MultiProgress) Flush() error {
	var errs []error
	for _, s := range m {
		errs = append(errs, s.Flush())
	}
	return errors.Join(errs...)
}

func (m MultiProgress) each(do func(ProgressStorage) error) error {
	for _, s := range m {
		if err := do(s); err != nil {
			return err
		}
	}
	return nil
}

// SmartProgressOptions are the options of NewSmartProgress. The zero value is
// Kopf's default.
type SmartProgressOptions struct {
	Annotations AnnotationsProgressOptions
	Status      StatusProgressOptions
}

// NewSmartProgress creates the default storage. It keeps records in annotations, and reads
// and purges those that older operators have left in the status.
//
// Kopf: kopf.SmartProgressStorage.
func NewSmartProgress(o SmartProgressOptions) MultiProgress {
	return MultiProgress{
		NewAnnotationsProgress(o.Annotations),
		readOnlyProgress{NewStatusProgress(o.Status)},
	}
}

// DefaultProgressStorage returns the storage of operators that do not configure one.
func DefaultProgressStorage() ProgressStorage { return NewSmartProgress(SmartProgressOptions{}) }

// readOnlyProgress is a storage that is read and purged, but not written.
type readOnlyProgress struct{ ProgressStorage }

func (readOnlyProgress) Store(string, Record, Object, *Patch) error { return nil }
func (readOnlyProgress) Touch(Object, *Patch, *string) error        { return nil }

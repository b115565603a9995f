// Package stores keeps the state of handling on the handled objects: the progress of
// handlers between attempts, and the essence of the object when it was last handled. All
// stores are pure: they read a body and write into a patch.
//
// Their output is byte for byte that of Kopf 1.45. An operator can therefore be migrated
// from Kopf and back while its objects are being handled.
//
// Kopf: kopf._cogs.configs.progress, kopf._cogs.configs.diffbase.
// See https://docs.kopf.dev/en/latest/continuity/
package stores

import (
	"fmt"
	"slices"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Object is a decoded JSON object. Its numbers are json.Number.
type Object = dicts.Object

// Path names a nested field by the keys that lead to it.
type Path = dicts.Path

// DefaultPrefix is the default prefix of the annotations.
const DefaultPrefix = "kopf.zalando.org"

// ProgressStorage keeps a record for each unfinished handler of an object. Handlers are
// identified by their ids, such as "fn" or "parent/child".
//
// # Assumptions
//
//   - A storage never changes bodies, and only adds to patches.
//   - Methods may be called for several objects at once.
//
// # Errors
//
// Any error stops the handling of the object for now. Handling is retried with growing
// delays, and no handler is called in the meantime.
//
// See https://docs.kopf.dev/en/latest/configuration/#handling-progress
type ProgressStorage interface {
	// Fetch reads the record of a handler, or returns nil. An invalid record is a
	// *CorruptedError.
	Fetch(body Object, id string) (*Record, error)

	// Store writes the record of a handler.
	Store(id string, record Record, body Object, patch *Patch) error

	// Purge deletes the record of a handler, whether it is stored or only in the patch.
	Purge(id string, body Object, patch *Patch) error

	// Touch makes a change without a meaning, so that the object comes back as an event. The
	// nil value removes the touch.
	Touch(body Object, patch *Patch, value *string) error

	// Clear removes what the storage keeps on the object from the essence, and returns the
	// result. It may change its argument.
	Clear(essence Object) (Object, error)

	// Flush is called when all records of a handling cycle have been written. Storages
	// outside the patch write now.
	Flush() error
}

// settler is a ProgressStorage that can prepare a patch for a purge with less work than Store.
type settler interface {
	// settle changes the patch so that Purge, for the same id, leaves what it leaves after
	// Store. Storages use it for handlers that have ended.
	settle(id string, body Object, patch *Patch) error
}

// StoreForPurge is Store for a record that Purge deletes from the same patch. The patch is
// then the one that Store and Purge would make: the order of its fields depends on both.
func StoreForPurge(storage ProgressStorage, id string, record func() Record, body Object, patch *Patch) error {
	if s, ok := storage.(settler); ok {
		return s.settle(id, body, patch)
	}
	if multi, ok := storage.(MultiProgress); ok {
		return multi.each(func(s ProgressStorage) error { return StoreForPurge(s, id, record, body, patch) })
	}
	if _, ok := storage.(readOnlyProgress); ok {
		return nil
	}
	return storage.Store(id, record(), body, patch)
}

// DiffBaseStorage keeps the essence of the object when it was last handled. The assumptions
// and errors of ProgressStorage apply here, too.
//
// See https://docs.kopf.dev/en/latest/configuration/#change-detection
type DiffBaseStorage interface {
	// Build extracts the essence from the body: everything that counts as a change of the
	// object. Handlers watch the extra fields explicitly. See BuildEssence. The essence
	// may share fields with the body, but not the metadata and the status: the caller changes
	// nothing inside of other fields.
	Build(body Object, extraFields []Path) (Object, error)

	// Fetch reads the stored essence. It returns nil if the object was never handled. The
	// caller may change the result. An invalid essence is a *CorruptedError.
	Fetch(body Object) (Object, error)

	// Store writes the essence.
	Store(body Object, patch *Patch, essence Object) error
}

// EssenceHolder is a DiffBaseStorage that can detect an unchanged object without decoding.
// Most objects are unchanged when an operator starts.
type EssenceHolder interface {
	// Holds reports whether the stored essence certainly equals this one, which the progress
	// storage has cleared. If not, it may still be equal: see Fetch.
	Holds(body, essence Object) bool
}

// AreOwn reports whether storages are of this package, or consist of such. They take bodies
// of dicts.DecodeBody, in which objects and lists may be undecoded. Other storages take only
// decoded bodies.
func AreOwn(progress ProgressStorage, diffBase DiffBaseStorage) bool {
	return isOwnProgress(progress) && isOwnDiffBase(diffBase)
}

func isOwnProgress(storage ProgressStorage) bool {
	switch s := storage.(type) {
	case *AnnotationsProgress, *StatusProgress:
		return true
	case readOnlyProgress:
		return isOwnProgress(s.ProgressStorage)
	case MultiProgress:
		return !slices.ContainsFunc(s, func(part ProgressStorage) bool { return !isOwnProgress(part) })
	}
	return false
}

func isOwnDiffBase(storage DiffBaseStorage) bool {
	switch s := storage.(type) {
	case *AnnotationsDiffBase, *StatusDiffBase:
		return true
	case MultiDiffBase:
		return !slices.ContainsFunc(s, func(part DiffBaseStorage) bool { return !isOwnDiffBase(part) })
	}
	return false
}

// CorruptedError reports stored state that cannot be decoded, usually after a manual edit.
type CorruptedError struct {
	Place string // for messages: "annotation kopf.zalando.org/fn", "field status.kopf.progress"
	Err   error
}

// Error returns a text that names the place.
func (e *CorruptedError) Error() string { return fmt.Sprintf("%s is corrupted: %v", e.Place, e.Err) }

// Unwrap returns the cause.
func (e *CorruptedError) Unwrap() error { return e.Err }

func corruptedAnnotation(key string, err error) error {
	return &CorruptedError{Place: "annotation " + key, Err: err}
}

func corruptedField(path Path, err error) error {
	return &CorruptedError{Place: "field " + path.String(), Err: err}
}

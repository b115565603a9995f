// Package stores keeps the state of handling on the handled objects: the
// progress of handlers between attempts, and the essence of the object as it was
// handled last. All stores are pure: they read a body and write into a patch.
//
// What they write is byte for byte what Kopf 1.45 writes, so that an operator
// can be moved from there and back while its objects are being handled.
//
// Kopf: kopf._cogs.configs.progress, kopf._cogs.configs.diffbase.
// See https://docs.kopf.dev/en/latest/continuity/
package stores

import (
	"fmt"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Object is a decoded JSON object. Its numbers are json.Number.
type Object = dicts.Object

// Path names a nested field by the keys that lead to it.
type Path = dicts.Path

// DefaultPrefix is the prefix of the annotations unless another is configured.
const DefaultPrefix = "kopf.zalando.org"

// ProgressStorage keeps a record for each handler that is not done with the
// object yet. Handlers are named by their ids, such as "fn" or "parent/child".
//
// # Assumptions
//
//   - Bodies are never changed by a storage, patches only by adding to them.
//   - Methods may be called for several objects at once.
//
// # Errors
//
// Any error stops the handling of the object for the time being: it is
// repeated with growing delays and no handler is called meanwhile.
//
// See https://docs.kopf.dev/en/latest/configuration/#handling-progress
type ProgressStorage interface {
	// Fetch reads the record of a handler. It is nil if there is none.
	// Garbage is a *CorruptedError.
	Fetch(body Object, id string) (*Record, error)

	// Store writes the record of a handler.
	Store(id string, record Record, body Object, patch *Patch) error

	// Purge deletes the record of a handler, be it stored or about to be.
	Purge(id string, body Object, patch *Patch) error

	// Touch makes a change with no meaning, so that the object comes back as an
	// event. The nil value removes the trace of it.
	Touch(body Object, patch *Patch, value *string) error

	// Clear gives the essence without what the storage keeps on the object.
	// It may change the given one, which is of the caller alone.
	Clear(essence Object) (Object, error)

	// Flush is called when all records of a handling cycle have been written.
	// Storages that write to somewhere else than the patch do it now.
	Flush() error
}

// DiffBaseStorage keeps the essence of the object as it was handled last.
// The assumptions and errors of ProgressStorage hold here too.
//
// See https://docs.kopf.dev/en/latest/configuration/#change-detection
type DiffBaseStorage interface {
	// Build extracts the essence from the body: all that counts as a change of
	// the object. Extra fields are those that handlers watch explicitly.
	// See BuildEssence. The essence shares nothing with the body.
	Build(body Object, extraFields []Path) (Object, error)

	// Fetch reads the stored essence. It is nil if the object was never handled,
	// and the caller's to change. Garbage is a *CorruptedError.
	Fetch(body Object) (Object, error)

	// Store writes the essence.
	Store(body Object, patch *Patch, essence Object) error
}

// EssenceHolder is a DiffBaseStorage that can tell without decoding whether an object
// is unchanged, as most objects are when an operator starts.
type EssenceHolder interface {
	// Holds tells whether the stored essence is certainly this one, cleared by the
	// storage of the progress. If not, it may still be an equal one: see Fetch.
	Holds(body, essence Object) bool
}

// CorruptedError reports stored state that cannot be understood, usually because
// somebody has edited it by hand.
type CorruptedError struct {
	Place string // for people: "annotation kopf.zalando.org/fn", "field status.kopf.progress"
	Err   error
}

// Error names the place.
func (e *CorruptedError) Error() string { return fmt.Sprintf("%s is corrupted: %v", e.Place, e.Err) }

// Unwrap gives the cause.
func (e *CorruptedError) Unwrap() error { return e.Err }

func corruptedAnnotation(key string, err error) error {
	return &CorruptedError{Place: "annotation " + key, Err: err}
}

func corruptedField(path Path, err error) error {
	return &CorruptedError{Place: "field " + path.String(), Err: err}
}

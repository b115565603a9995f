// Package guests is the border between the engine (package host) and the kinds of guests.
// Each kind is a package below this one: how its modules look, how a message reaches an
// export and the answer comes back, and which functions it calls. The engine knows of a kind
// only the interface Guest, and a kind knows of the engine only the interface Call.
package guests

import (
	"context"

	"github.com/tetratelabs/wazero/api"

	"github.com/kopf-wasm/kopf/host/functions"
)

// Guest is one instance of a guest, as the engine sees it. The engine calls one method at a
// time.
type Guest interface {
	// Initializers returns the exports that prepare the language runtime of a new instance,
	// in the order of the calls. Absent exports are skipped. The engine calls it once for each
	// instance that is not a clone.
	Initializers(exported func(name string) bool) []Initializer

	// Exchange passes a message to the export of the call, and returns the answer. The answer
	// is valid until the next call. The engine calls it only for an instance that works, and
	// not after the end of the context.
	//
	// Errors: those of Call.Run and Call.Fail.
	Exchange(c Call, m Message) (answer []byte, err error)

	// Tell calls the export of the call for a task, without an answer.
	//
	// Errors: those of Call.Run and Call.Fail.
	Tell(c Call, task uint32) error
}

// Initializer is an export that prepares a language runtime.
type Initializer struct {
	Name   string
	Params []uint64
}

// Call is the running call of an export, as a kind of guests sees it. Its methods are called
// on the goroutine of the call.
type Call interface {
	functions.Guest

	// Export returns the name of the export that is called.
	Export() string

	// Context returns the context of the caller. Its end ends the call.
	Context() context.Context

	// Exports reports whether the module exports a function.
	Exports(name string) bool

	// Run runs an exported function in the engine, and returns its result.
	//
	// Errors: a failure of the guest, or the end of the context. Both destroy the instance.
	// The caller returns them unchanged.
	Run(export string, params ...uint64) (uint64, error)

	// Memory returns the linear memory of the instance.
	Memory() api.Memory

	// Settle counts a call of a guest that does not run in the engine.
	Settle()

	// Fail ends the call with a cause, and returns the error. It destroys the instance,
	// except after a Panic. The caller returns the error unchanged.
	Fail(cause error) error
}

package functions

import (
	"context"
	"errors"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
)

// Env provides the host functions of one invocation that concern the object and the
// operator. See abi/SPEC.md, "Host functions".
//
// # Guarantees
//
//   - Methods are called on the goroutine of the running call, one at a time.
//   - None is called after the task is released.
//   - Slices that are passed in are copies; they may be kept.
//
// # Assumptions
//
//   - Methods do not block and do not call the Task or the Module.
type Env interface {
	// Log writes a line to the log of the object; level is 10 (debug) to 50 (critical).
	Log(level int, message string)

	// Segment returns a segment of the invocation, or nil. The host keeps the data for the
	// next call with the same tag, because guests ask for the length first.
	Segment(tag uint32) []byte

	// Stopped returns the stop reasons of a daemon as bits; 0: continue.
	Stopped() int

	// Event posts a Kubernetes event.
	//
	// Errors: abi.ErrDenied, abi.ErrTooLarge; any other is shown to the guest as invalid.
	Event(ev abi.Event) error

	// MemoGet reads a value and its version from the memo of the object (scope 0)
	// or of the operator (scope 1).
	MemoGet(scope int, key string) (value []byte, version uint64, ok bool)

	// MemoSet stores a JSON value, or deletes it if the value is empty. It returns the new
	// version. The parameter version is the expected one: 0 for a new key, -1 for any.
	//
	// Errors: abi.ErrConflict, abi.ErrTooLarge, abi.ErrDenied.
	MemoSet(scope int, key string, value []byte, version int64) (uint64, error)

	// Index reads an index, with a result in JSON. The operation op is 0 for the values of
	// the key, 1 for all keys, 2 for the number of keys, 3 for whether the key exists.
	//
	// Errors: abi.ErrAbsent for an unknown index or key.
	Index(op int, name string, key []byte) ([]byte, error)
}

// Waiter is an optional interface of Env. The host calls it when a task waits without a
// step: for an instance that is in use, or inside a host function.
type Waiter interface {
	// Waits must not block. The host may call it before the task has started.
	Waits()
}

// Requester is an optional interface of Env. It makes requests for guests that cannot wait
// by steps.
type Requester interface {
	// Call makes a request and waits for the response, or for the end of the context.
	Call(ctx context.Context, call *abi.Call) abi.Answer
}

// Keeper is an optional interface of Env. It counts the segment that the host keeps for a task, which a guest that never
// returns from its call never gives back.
type Keeper interface {
	// Keep counts the bytes of a segment in place of the one that was kept before. No bytes give that one back.
	//
	// Errors: accounts.ErrLimit; then no segment is kept.
	Keep(tag uint32, bytes int) error
}

// errnoOf returns the number that a guest sees for an error of Env. Unknown errors are
// invalid.
func errnoOf(err error) int64 {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, abi.ErrAbsent):
		return abi.ErrnoAbsent
	case errors.Is(err, abi.ErrConflict):
		return abi.ErrnoConflict
	case errors.Is(err, abi.ErrDenied):
		return abi.ErrnoDenied
	case errors.Is(err, abi.ErrTooLarge), errors.Is(err, accounts.ErrLimit):
		return abi.ErrnoTooLarge
	}
	return abi.ErrnoInvalid
}

package host

import (
	"errors"

	"github.com/kopf-wasm/kopf/abi"
)

// Env answers the short questions of one invocation: the host functions that
// are about the object and the operator. See abi/SPEC.md, "Host functions".
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
	// Log takes a line for the log of the object; level is 10 (debug) to 50 (critical).
	Log(level int, message string)

	// Segment is the data of a segment of the invocation; nil if it has none. The
	// host keeps it for the next call of the same tag, as guests ask for the length first.
	Segment(tag uint32) []byte

	// Stopped is the set of stop reasons of a daemon as bits; 0 to go on.
	Stopped() int

	// Event posts a Kubernetes event.
	//
	// Errors: ErrDenied, ErrTooLarge; any other is shown to the guest as invalid.
	Event(ev abi.Event) error

	// MemoGet reads a value and its version from the memo of the object (scope 0)
	// or of the operator (scope 1).
	MemoGet(scope int, key string) (value []byte, version uint64, ok bool)

	// MemoSet stores a JSON value, or deletes it if it is empty, and returns the
	// new version. The version is the one that is expected: 0 for a new key, -1 for whatever is there.
	//
	// Errors: ErrConflict, ErrTooLarge, ErrDenied.
	MemoSet(scope int, key string, value []byte, version int64) (uint64, error)

	// Index looks into an index: op 0 gives the values of the key, 1 all keys, 2
	// the number of keys, 3 whether the key is there; always as JSON.
	//
	// Errors: ErrAbsent for an unknown index or key.
	Index(op int, name string, key []byte) ([]byte, error)
}

// Errors that methods of Env return; a guest sees them as negative numbers.
var (
	ErrAbsent   = errors.New("absent")               // abi.ErrnoAbsent
	ErrConflict = errors.New("conflict of versions") // abi.ErrnoConflict
	ErrDenied   = errors.New("not granted")          // abi.ErrnoDenied
	ErrTooLarge = errors.New("over a limit")         // abi.ErrnoTooLarge
	ErrInvalid  = errors.New("invalid")              // abi.ErrnoInvalid
)

// errnoOf is the number that a guest sees for an error of Env.
func errnoOf(err error) int64 {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrAbsent):
		return abi.ErrnoAbsent
	case errors.Is(err, ErrConflict):
		return abi.ErrnoConflict
	case errors.Is(err, ErrDenied):
		return abi.ErrnoDenied
	case errors.Is(err, ErrTooLarge):
		return abi.ErrnoTooLarge
	}
	return abi.ErrnoInvalid
}

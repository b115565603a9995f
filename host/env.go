package host

import (
	"context"
	"errors"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
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
	// Errors: abi.ErrDenied, abi.ErrTooLarge; any other is shown to the guest as invalid.
	Event(ev abi.Event) error

	// MemoGet reads a value and its version from the memo of the object (scope 0)
	// or of the operator (scope 1).
	MemoGet(scope int, key string) (value []byte, version uint64, ok bool)

	// MemoSet stores a JSON value, or deletes it if it is empty, and returns the
	// new version. The version is the one that is expected: 0 for a new key, -1 for whatever is there.
	//
	// Errors: abi.ErrConflict, abi.ErrTooLarge, abi.ErrDenied.
	MemoSet(scope int, key string, value []byte, version int64) (uint64, error)

	// Index looks into an index: op 0 gives the values of the key, 1 all keys, 2
	// the number of keys, 3 whether the key is there; always as JSON.
	//
	// Errors: abi.ErrAbsent for an unknown index or key.
	Index(op int, name string, key []byte) ([]byte, error)
}

// Waiter is an Env that is informed when its task waits without a step: for an instance
// that others use, or inside of a host function. An Env that is none is not.
type Waiter interface {
	// Waits must not block. It may be called before the task has started.
	Waits()
}

// waits informs an Env; nil has no task.
func waits(env Env) {
	if w, ok := env.(Waiter); ok {
		w.Waits()
	}
}

// seize puts a token into a channel, and informs the Env if it has to wait for that.
func seize(ctx context.Context, tokens chan<- struct{}, env Env) error {
	select {
	case tokens <- struct{}{}: // also when the context has ended: choosing at random would depend on luck
		return nil
	default:
	}
	waits(env)
	select {
	case tokens <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// errnoOf is the number that a guest sees for an error of Env; others are invalid.
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

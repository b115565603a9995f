package guest

import "github.com/kopf-wasm/kopf/abi"

// Host answers the short questions of a guest. The functions never block.
// Errors are Errno.
//
// See SPEC.md, "Host functions".
type Host interface {
	// Log writes a line to the log of the object. Levels are those of SPEC.md: 20 is info.
	Log(task uint32, level int, text string)
	// Segment is a part of the current invocation; ErrnoAbsent if it has none.
	Segment(task uint32, tag int) ([]byte, error)
	// Stopped are the stop reasons of a daemon, as bits.
	Stopped(task uint32) int
	// Config is a value of the configuration, secrets included.
	Config(key string) (string, error)
	// Random fills the buffer.
	Random(buf []byte) error
	// Event posts a Kubernetes event: an abi.Event as JSON.
	Event(task uint32, event []byte) error
	// MemoGet is a JSON value and its version, of a memo: ScopeObject, ScopeOperator.
	MemoGet(task uint32, scope int, key string) (version int64, value []byte, err error)
	// MemoSet stores a JSON value, or deletes it if it is empty. Version 0: there
	// must be none yet; AnyVersion: whatever is there.
	MemoSet(task uint32, scope int, key string, value []byte, version int64) (int64, error)
	// Index answers a question about an index: IndexGet, and so on. The key is JSON.
	Index(task uint32, op int, name string, key []byte) ([]byte, error)
}

// Scopes of memos.
const (
	ScopeObject   = 0
	ScopeOperator = 1
)

// AnyVersion overwrites a value of a memo without a look at it.
const AnyVersion = -1

// Questions about an index.
const (
	IndexGet  = 0 // the values of a key
	IndexKeys = 1 // all keys
	IndexLen  = 2 // the number of keys
	IndexHas  = 3 // whether there is the key
)

// Errno is an error of a host function: a negative number of package abi.
type Errno int

// Error is the error in words.
func (e Errno) Error() string {
	switch e {
	case abi.ErrnoAbsent:
		return "there is no such value"
	case abi.ErrnoConflict:
		return "the value was changed meanwhile"
	case abi.ErrnoFault:
		return "outside of the memory"
	case abi.ErrnoDenied:
		return "not granted to this operator"
	case abi.ErrnoTooLarge:
		return "over a limit of the host"
	case abi.ErrnoInvalid:
		return "not valid"
	}
	return "unknown error of the host"
}

// Noone is a Host that has nothing to say. It is what a guest has in native
// builds outside of tests, and a base for hosts of tests.
type Noone struct{}

// Log drops the line.
func (Noone) Log(uint32, int, string) {}

// Segment has no segments.
func (Noone) Segment(uint32, int) ([]byte, error) { return nil, Errno(abi.ErrnoAbsent) }

// Stopped never stops.
func (Noone) Stopped(uint32) int { return 0 }

// Config has no values.
func (Noone) Config(string) (string, error) { return "", Errno(abi.ErrnoAbsent) }

// Random has no random bytes: it does not change the buffer.
func (Noone) Random([]byte) error { return nil }

// Event drops the event.
func (Noone) Event(uint32, []byte) error { return nil }

// MemoGet has no values.
func (Noone) MemoGet(uint32, int, string) (int64, []byte, error) {
	return 0, nil, Errno(abi.ErrnoAbsent)
}

// MemoSet refuses to store.
func (Noone) MemoSet(uint32, int, string, []byte, int64) (int64, error) {
	return 0, Errno(abi.ErrnoDenied)
}

// Index has no indices.
func (Noone) Index(uint32, int, string, []byte) ([]byte, error) {
	return nil, Errno(abi.ErrnoAbsent)
}

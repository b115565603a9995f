package crossings

import (
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Messages from the reactor to a guest. Each is followed by what the guest calls meanwhile,
// and then by Step, Answers, Transformed or Failure; nothing follows Cancel and Release.
type (
	// Start is the start of a handler.
	Start struct {
		Parent     int // the call of the parent of a sub-handler; 0: none
		Invocation *abi.Invocation
		Body       []byte
	}

	// Resume answers the last step.
	Resume struct{ Answer abi.Answer }

	// Cancel asks a task to end.
	Cancel struct{}

	// Release frees a task.
	Release struct{}

	// Transform runs the transformation functions of a task.
	Transform struct{ Body []byte }

	// Ask evaluates functions among the options of handlers.
	Ask struct {
		Parent    int // the call whose sub-handlers are asked about; 0: none
		Questions *abi.Questions
		Body      []byte
	}
)

// Messages that end those of the reactor.
type (
	// Step is the next step of a handler.
	Step struct{ Step *abi.Step }

	// Answers are the answers to questions.
	Answers struct{ Answers *abi.Answers }

	// Transformed is the body after transformations.
	Transformed struct{ Body []byte }

	// Failure is a failure of the guest itself, such as a trap.
	Failure struct{ Err error }
)

// Calls of the host by a guest, with the answers of the host.
type (
	// Log is a log message of a handler, with a level of Kopf.
	Log struct {
		Level   int
		Message string
	}

	// Segment is data that a handler reads; a nil value is absent.
	Segment struct {
		Tag   uint32
		Value []byte
	}

	// Stopped are the reasons of a daemon to end.
	Stopped struct{ Bits int }

	// Event is a Kubernetes event that a handler posts.
	Event struct {
		Event abi.Event
		Err   error
	}

	// Request is a request with its answer: of a guest that waits for it inside of its call, or
	// one that Border.Answer has answered. All other requests are steps.
	Request struct {
		Call   *abi.Call
		Answer abi.Answer
	}

	// MemoGet reads a memo: scope 0 is the object's, 1 the operator's.
	MemoGet struct {
		Scope   int
		Key     string
		Value   []byte
		Version uint64
		Found   bool
	}

	// MemoSet changes a memo.
	MemoSet struct {
		Scope   int
		Key     string
		Value   []byte
		Version int64 // the expected version; -1: any
		Result  uint64
		Err     error
	}

	// Index is a lookup of an index.
	Index struct {
		Operation int
		Name      string
		Key       []byte
		Value     []byte
		Err       error
	}
)

// What a guest sees of the world: see host.Surroundings.
type (
	// Now is a reading of the clock.
	Now struct{ Time time.Time }

	// Random are random bytes.
	Random struct{ Bytes []byte }

	// Sleep is the end of a guest's own sleep.
	Sleep struct {
		Slept time.Duration
		Early bool
	}
)

// Decoded decodes JSON that a guest has sent, for people to read; nil for what is absent or invalid.
func Decoded(raw []byte) any {
	if len(raw) == 0 {
		return nil
	}
	value, err := dicts.Decode(raw)
	if err != nil {
		return nil
	}
	return value
}

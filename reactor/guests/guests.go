// Package guests declares what the reactor needs of a guest: to start a handler, to answer
// the steps of its task, and to ask for filters. Package host has the implementations.
package guests

import (
	"context"

	"github.com/kopf-wasm/kopf/abi"
)

// Guest is a loaded module. It is safe for concurrent use.
type Guest interface {
	Starter
	Asker

	// Name tells guests apart in logs and errors.
	Name() string

	// Registration is what the guest has registered.
	Registration() *abi.Registration
}

// Task is one call of a handler that has not been released yet. Calls of one
// task and of its children never overlap.
type Task interface {
	Starter // children, on the same instance
	Asker   // filters of children

	// Resume answers the last step of the task and returns the next one.
	Resume(ctx context.Context, answer abi.Answer) (*abi.Step, error)

	// Cancel tells the task to end; it takes effect when it is resumed.
	Cancel(ctx context.Context) error

	// Transform applies the transformation functions of the task to a body, and
	// returns the new one.
	Transform(ctx context.Context, body []byte) ([]byte, error)

	// Release forgets the task. It must be called, at the latest when the patch of
	// the cycle is through; more calls do nothing.
	Release(ctx context.Context)
}

// Starter starts a handler: of the registration, or a child of a task. The task
// is to be released even if the first step is the last one. An error is a failure
// of the guest itself, never one that the handler has returned.
type Starter interface {
	Start(ctx context.Context, inv *abi.Invocation, body []byte, env Env) (Task, *abi.Step, error)
}

// Asker answers the filters and options of handlers that are functions.
type Asker interface {
	Ask(ctx context.Context, questions *abi.Questions, body []byte, env Env) (*abi.Answers, error)
}

// Env answers the short questions of a guest during a call. Its methods are
// called on the goroutine of the call, and must not block, but for Call.
type Env interface {
	// Log takes a message of the handler; the levels are those of the reference:
	// 10 debug, 20 info, 30 warning, 40 error, 50 critical.
	Log(level int, message string)

	// Segment returns a segment of the invocation by its tag, nil if there is none.
	Segment(tag uint32) []byte

	// Stopped returns the stop reasons of a daemon as bits of the abi.
	Stopped() int

	// Waits is called when the task waits without a step: for an instance, or inside
	// of a host function.
	Waits()

	// Event queues a Kubernetes event for posting.
	Event(event abi.Event) error

	// Call makes a request for a guest that cannot wait by a step: it blocks, until
	// the context ends.
	Call(ctx context.Context, call *abi.Call) abi.Answer

	// MemoGet reads a value of a memo; scope 0 is the object's, 1 the operator's.
	MemoGet(scope int, key string) (value []byte, version uint64, ok bool)

	// MemoSet stores a value of a memo if its version is still the given one; see
	// the host function memo_set. It returns abi.ErrConflict otherwise.
	MemoSet(scope int, key string, value []byte, version int64) (uint64, error)

	// Index looks something up in an index. It returns abi.ErrAbsent if there is no
	// such index or key.
	Index(op int, name string, key []byte) ([]byte, error)
}

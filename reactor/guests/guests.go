// Package guests declares what the reactor needs of a guest: to start a handler, to answer
// the steps of its task, and to evaluate filters. Package host implements it.
package guests

import (
	"context"

	"github.com/kopf-wasm/kopf/abi"
)

// Guest is a loaded module. It is safe for concurrent use.
type Guest interface {
	Starter
	Asker

	// Name identifies the guest in logs and errors.
	Name() string

	// Registration returns the handlers that the guest has registered.
	Registration() *abi.Registration
}

// Keeper is a guest whose calls do not share all variables.
type Keeper interface {
	// Keep is called when startup handlers of the guest have ended. If all have succeeded, what
	// they have left in variables is what later calls begin with.
	Keep(succeeded bool) error
}

// Keep calls the method of a guest that is a Keeper.
func Keep(g Starter, succeeded bool) error {
	if k, ok := g.(Keeper); ok {
		return k.Keep(succeeded)
	}
	return nil
}

// Task is one call of a handler that has not been released yet. Calls of a task and of its
// children must not overlap.
type Task interface {
	Starter // starts sub-handlers on the same instance
	Asker   // evaluates filters of sub-handlers

	// Resume answers the last step of the task and returns the next one.
	Resume(ctx context.Context, answer abi.Answer) (*abi.Step, error)

	// Cancel asks the task to end. The request takes effect at the next Resume.
	Cancel(ctx context.Context) error

	// Transform applies the transformation functions of the task to a body and returns the
	// result.
	Transform(ctx context.Context, body []byte) ([]byte, error)

	// Release frees the task. It must be called at the latest after the patch of the cycle;
	// further calls do nothing.
	Release(ctx context.Context)
}

// Starter starts a handler: of the registration, or a sub-handler of a task. The caller
// must release the task, even if the first step is the last one. An error is a failure of
// the guest itself, never the error of a handler.
type Starter interface {
	Start(ctx context.Context, inv *abi.Invocation, body []byte, env Env) (Task, *abi.Step, error)
}

// Asker evaluates the filters and options of handlers that are functions.
type Asker interface {
	Ask(ctx context.Context, questions *abi.Questions, body []byte, env Env) (*abi.Answers, error)
}

// Env answers host functions during a call. Its methods run on the goroutine of the call,
// and only Call may block.
type Env interface {
	// Log logs a message of the handler. Levels are Kopf's: 10 debug, 20 info, 30 warning,
	// 40 error, 50 critical.
	Log(level int, message string)

	// Segment returns a segment of the invocation by its tag; nil if it does not exist.
	Segment(tag uint32) []byte

	// Stopped returns the stop reasons of a daemon as a bit set of the ABI.
	Stopped() int

	// Waits is called when the task waits without a step: for an instance, or inside a host
	// function.
	Waits()

	// Event queues a Kubernetes event for posting.
	Event(event abi.Event) error

	// Call makes a request for a guest that cannot wait by a step. It blocks until the
	// response, or until the context ends. The context ends at the latest when the guest has
	// the response, which counts as memory of the operator until then.
	Call(ctx context.Context, call *abi.Call) abi.Answer

	// MemoGet reads a value of a memo; scope 0 is the object's memo, scope 1 the
	// operator's.
	MemoGet(scope int, key string) (value []byte, version uint64, ok bool)

	// MemoSet stores a value of a memo if its current version equals the given one; see the
	// host function memo_set. Otherwise it returns abi.ErrConflict.
	MemoSet(scope int, key string, value []byte, version int64) (uint64, error)

	// Index looks up an index. It returns abi.ErrAbsent if the index or the key does not
	// exist.
	Index(op int, name string, key []byte) ([]byte, error)
}

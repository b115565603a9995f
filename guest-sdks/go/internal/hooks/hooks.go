// Package hooks is what package kopftest needs of package kopf and operators do not: it makes the
// arguments of handlers. Package kopf sets the functions in native builds.
package hooks

import (
	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
)

// Functions that make the argument of a handler of a task: *kopf.Change and so on.
var (
	Change, Event, Timer, Daemon, Activity, Review, Conversion, Indexed func(t *guest.Task) any

	// Cause makes the argument of a filter of a value.
	Cause func(t *guest.Task, value abi.Value) any
)

// Finish calls a handler of changes with its argument, a *kopf.Change, and returns its task and how it ended.
var Finish func(change any, call func() (any, error)) (*guest.Task, guest.Done)

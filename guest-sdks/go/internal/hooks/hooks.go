// Package hooks is what package kopftest needs of package kopf and operators do not: it makes the
// arguments of handlers. Package kopf sets the functions in native builds.
package hooks

import (
	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
)

// Change makes a *kopf.Change.
var Change func(t *guest.Task) any

// Event makes a *kopf.Event.
var Event func(t *guest.Task) any

// Timer makes a *kopf.Timer.
var Timer func(t *guest.Task) any

// Daemon makes a *kopf.Daemon.
var Daemon func(t *guest.Task) any

// Activity makes a *kopf.Activity.
var Activity func(t *guest.Task) any

// Review makes a *kopf.Review.
var Review func(t *guest.Task) any

// Conversion makes a *kopf.Conversion.
var Conversion func(t *guest.Task) any

// Indexed makes a *kopf.Indexed.
var Indexed func(t *guest.Task) any

// Cause makes a *kopf.Cause for a filter of a value.
var Cause func(t *guest.Task, value abi.Value) any

// Finish calls a handler of changes with its argument, a *kopf.Change, and returns its task and how it ended.
var Finish func(change any, call func() (any, error)) (*guest.Task, guest.Done)

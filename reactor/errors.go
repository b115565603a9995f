package reactor

import "errors"

// Errors of short questions; see Env.
var (
	ErrConflict = errors.New("the value has changed meanwhile")
	ErrAbsent   = errors.New("there is no such value")
)

// ErrInstanceLost is in the error of a task whose instance died by the fault of
// another task on it. Daemons are started again then, as if nothing had happened.
var ErrInstanceLost = errors.New("the instance is lost")

// errCancelled ends a daemon that was cancelled.
var errCancelled = errors.New("cancelled")

package abi

import "errors"

// Sentinels of the border. Errors of handlers are messages: see Error.
var (
	// ErrFrame is a frame whose lengths do not add up.
	ErrFrame = errors.New("malformed frame")

	// ErrGuest is whatever a guest does against the contract or against the
	// limits: a trap, a broken message, a pointer outside of its memory, too much
	// time or memory. Only the host makes it. To a handler it is an arbitrary error.
	ErrGuest = errors.New("guest failed")

	// ErrNoRoom is a call that was not begun, since the host has no room for another instance now: nothing
	// of it is the guest's fault. To a handler it is a temporary error. Only the host makes it.
	ErrNoRoom = errors.New("no room for an instance")

	// ErrInstanceLost is in the error of a task whose instance died by the fault of another task on
	// it. Daemons are started again then, as if nothing had happened. Only the host makes it.
	ErrInstanceLost = errors.New("the instance is lost")
)

// Errors of short questions, which host functions answer with a negative number: see Errno.
var (
	ErrAbsent   = errors.New("there is no such value")          // ErrnoAbsent
	ErrConflict = errors.New("the value has changed meanwhile") // ErrnoConflict
	ErrDenied   = errors.New("not granted")                     // ErrnoDenied
	ErrTooLarge = errors.New("over a limit of the host")        // ErrnoTooLarge
)

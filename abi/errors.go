package abi

import "errors"

// Sentinel errors of calls between host and guest. Errors of handlers are messages: see
// Error.
var (
	// ErrFrame says that the lengths in a frame are inconsistent.
	ErrFrame = errors.New("malformed frame")

	// ErrGuest says that a guest has violated the contract or a limit: a trap, a malformed
	// message, a pointer outside its memory, too much time or memory. Only the host returns
	// it. For a handler, it is an arbitrary error.
	ErrGuest = errors.New("guest failed")

	// ErrNoRoom says that a call did not start, because the host has no room for another
	// instance now. The guest is not at fault. For a handler, it is a temporary error. Only
	// the host returns it.
	ErrNoRoom = errors.New("no room for an instance")

	// ErrInstanceLost says that a task lost its instance by the fault of another task on it.
	// The host restarts daemons in this case. Only the host returns it.
	ErrInstanceLost = errors.New("the instance is lost")
)

// Errors of short questions, which host functions answer with a negative number: see Errno.
var (
	ErrAbsent   = errors.New("there is no such value")          // ErrnoAbsent
	ErrConflict = errors.New("the value has changed meanwhile") // ErrnoConflict
	ErrDenied   = errors.New("not granted")                     // ErrnoDenied
	ErrTooLarge = errors.New("over a limit of the host")        // ErrnoTooLarge
)

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
)

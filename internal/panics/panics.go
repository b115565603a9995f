// Package panics keeps a panic of the host to the work in which it happened: one event of an object, one daemon, or one review.
// The other operators of the process go on.
package panics

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// Error is a panic of the host. It is a defect of the host, even if a guest or a client has caused it.
type Error struct {
	Reason any
	Stack  string // of the goroutine, for the log only: it is of no use to clients
}

func (e *Error) Error() string { return fmt.Sprintf("a defect of the host: %v", e.Reason) }

// Recover makes a panic the error of the function that defers it:
//
//	defer panics.Recover(&err)
func Recover(err *error) {
	if reason := recover(); reason != nil {
		*err = &Error{Reason: reason, Stack: string(debug.Stack())}
	}
}

// StackOf returns the stack of an error that was a panic; an empty text for other errors.
func StackOf(err error) string {
	var panicked *Error
	if errors.As(err, &panicked) {
		return panicked.Stack
	}
	return ""
}

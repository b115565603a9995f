package host

import (
	"errors"
	"fmt"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/guests"
)

// ErrModule is in all errors of Load that the file causes: it is not WebAssembly, it is not
// a guest, or its registration is invalid.
var ErrModule = errors.New("module refused")

// Causes of a GuestError, in addition to abi.ErrInstanceLost and the error of the context.
var (
	ErrCompute = errors.New("computed too long")
	ErrExit    = errors.New("exited")
	ErrTrap    = errors.New("trapped")
	ErrMessage = guests.ErrMessage
	ErrExport  = guests.ErrExport
	ErrMemory  = guests.ErrMemory
)

// GuestError is a failure of a guest: a breach of the contract or of a limit, not an error
// that a handler returned. It wraps abi.ErrGuest and its cause.
type GuestError struct {
	Module  string // the name that was passed to Load
	Export  string // the export that was called
	Message string // the guest's own words, if there are any
	Stack   string // functions of the guest, or what it wrote to standard error
	Err     error  // the cause: one of the Err… of this package, or of the context
}

// Error names the module, the export and what happened, without the stack.
func (e *GuestError) Error() string {
	return fmt.Sprintf("%s: %s: %s", e.Module, e.Export, e.Message)
}

// GuestStack returns the guest's stack, or its output to standard error.
func (e *GuestError) GuestStack() string { return e.Stack }

// Unwrap makes errors.Is find abi.ErrGuest and the cause.
func (e *GuestError) Unwrap() []error {
	if e.Err == nil {
		return []error{abi.ErrGuest}
	}
	return []error{abi.ErrGuest, e.Err}
}

// HandlerError is an error that a transformation function of a guest returned. It is not a
// failure of the guest.
type HandlerError struct {
	Module string
	Guest  abi.Error
}

// Error returns the message, or the type without a message.
func (e *HandlerError) Error() string {
	if e.Guest.Message == "" {
		return e.Guest.Type
	}
	return e.Guest.Message
}

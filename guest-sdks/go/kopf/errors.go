package kopf

import (
	"errors"
	"reflect"
	"time"

	"github.com/kopf-wasm/kopf/abi"
)

// TemporaryError makes the handler be called again later. Anywhere in the chain
// of a returned error it counts, the outermost error with a meaning first.
//
// See https://docs.kopf.dev/en/latest/errors/#temporary-errors
type TemporaryError struct {
	Message string
	Err     error      // the cause, if any
	Delay   RetryDelay // until the next attempt; 60 seconds if it is not set
}

// RetryDelay is the time until the next attempt. The zero value is the default
// of 60 seconds. See Delay and AtOnce.
type RetryDelay = abi.Delay

// Delay is a delay of a temporary error.
func Delay(d time.Duration) RetryDelay { return abi.DelayOf(d.Seconds()) }

// AtOnce is the delay of a temporary error that needs none.
func AtOnce() RetryDelay { return RetryDelay{Said: true, None: true} }

// Temporary makes a TemporaryError:
//
//	return nil, kopf.Temporary("the volume is not ready", kopf.Delay(10*time.Second))
func Temporary(message string, delay ...RetryDelay) error {
	return TemporaryFrom(nil, message, delay...)
}

// TemporaryFrom makes a TemporaryError of another error.
func TemporaryFrom(err error, message string, delay ...RetryDelay) error {
	e := &TemporaryError{Message: message, Err: err}
	if len(delay) > 0 {
		e.Delay = delay[0]
	}
	return e
}

// Error is the message, and the cause after it.
func (e TemporaryError) Error() string { return joinMessage(e.Message, e.Err) }

// Unwrap is the cause.
func (e TemporaryError) Unwrap() error { return e.Err }

// As lets errors.As find values as pointers, and pointers as values.
func (e TemporaryError) As(target any) bool { return as(e, target) }

// PermanentError makes the handler fail for good: it is not called again for
// this change of the object.
//
// See https://docs.kopf.dev/en/latest/errors/#permanent-errors
type PermanentError struct {
	Message string
	Err     error // the cause, if any
}

// Permanent makes a PermanentError.
func Permanent(message string) error { return &PermanentError{Message: message} }

// PermanentFrom makes a PermanentError of another error.
func PermanentFrom(err error, message string) error {
	return &PermanentError{Message: message, Err: err}
}

// Error is the message, and the cause after it.
func (e PermanentError) Error() string { return joinMessage(e.Message, e.Err) }

// Unwrap is the cause.
func (e PermanentError) Unwrap() error { return e.Err }

// As lets errors.As find values as pointers, and pointers as values.
func (e PermanentError) As(target any) bool { return as(e, target) }

// AdmissionError refuses a review with an HTTP status. Elsewhere it is a
// permanent error.
//
// See https://docs.kopf.dev/en/latest/admission/
type AdmissionError struct {
	Message string
	Code    int // of HTTP; 500 if it is 0, or more than 999
}

// Denied makes an AdmissionError:
//
//	return kopf.Denied("the size must be positive", 422)
func Denied(message string, code ...int) error {
	e := &AdmissionError{Message: message}
	if len(code) > 0 {
		e.Code = code[0]
	}
	return e
}

// Error is the message.
func (e AdmissionError) Error() string { return e.Message }

// As lets errors.As find values as pointers, and pointers as values.
func (e AdmissionError) As(target any) bool { return as(e, target) }

// as sets what errors.As is asked for, if it is an error of this type or a pointer to one.
func as[E error](e E, target any) bool {
	switch target := target.(type) {
	case *E:
		*target = e
	case **E:
		*target = &e
	default:
		return false
	}
	return true
}

// ErrChildrenPending says that sub-handlers are unfinished: a handler that gets it
// from Execute must return it, and is called again from its beginning.
var ErrChildrenPending = errors.New("sub-handlers are not finished yet")

func joinMessage(message string, err error) string {
	switch {
	case err == nil:
		return message
	case message == "":
		return err.Error()
	}
	return message + ": " + err.Error()
}

// wireError is an error as the host sees it; nil for none.
func wireError(err error) *abi.Error {
	if err == nil {
		return nil
	}
	wire := meaning(err)
	if wire == nil {
		wire = &abi.Error{Kind: abi.ErrorArbitrary}
	}
	wire.Message, wire.Type = err.Error(), reflect.TypeOf(err).String()
	return wire
}

// meaningful is an error that has a meaning by itself. It is an interface, so that types
// of errors which a module never makes are not in it.
type meaningful interface{ meaning() *abi.Error }

func (e TemporaryError) meaning() *abi.Error {
	return &abi.Error{Kind: abi.ErrorTemporary, Delay: e.Delay}
}

func (PermanentError) meaning() *abi.Error { return &abi.Error{Kind: abi.ErrorPermanent} }

func (e AdmissionError) meaning() *abi.Error {
	return &abi.Error{Kind: abi.ErrorAdmission, Code: e.Code}
}

func (e *RequestError) meaning() *abi.Error { return &abi.Error{Kind: e.kind} }

// meaning is the kind of the outermost error in the chain that has one; nil if
// there is none. errors.As would find an inner error of the type it is asked for.
func meaning(err error) *abi.Error {
	switch e := err.(type) { //nolint:errorlint // the chain is walked here, outermost first
	case meaningful:
		return e.meaning()
	case *DecodeError:
		return &abi.Error{Kind: abi.ErrorPermanent}
	}
	if err == ErrChildrenPending { //nolint:errorlint // likewise
		return &abi.Error{Kind: abi.ErrorChildren}
	}
	switch wrapper := err.(type) { //nolint:errorlint // likewise
	case interface{ Unwrap() error }:
		if inner := wrapper.Unwrap(); inner != nil {
			return meaning(inner)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range wrapper.Unwrap() {
			if found := meaning(inner); found != nil {
				return found
			}
		}
	}
	return nil
}

package kopf

import (
	"errors"
	"strconv"
	"time"
)

// Errors of the API that handlers tell apart, with errors.Is.
var (
	ErrNotFound      = errors.New("not found")
	ErrAlreadyExists = errors.New("already exists")
	ErrConflict      = errors.New("conflict")  // it was changed meanwhile, or is owned by others
	ErrForbidden     = errors.New("forbidden") // by the rights of the operator in the cluster
	ErrInvalid       = errors.New("invalid")   // not what the resource allows
	ErrExpired       = errors.New("expired")   // the listing took too long
	ErrBusy          = errors.New("too many requests")
)

// APIError is an answer of the API of Kubernetes that is an error:
//
//	if errors.Is(err, kopf.ErrNotFound) {
//
// Returned from a handler, it is an arbitrary error: the handler is retried.
type APIError struct {
	Code       int           // the HTTP status
	Reason     string        // NotFound, AlreadyExists, Conflict, Forbidden, Invalid…
	Message    string        // for people
	RetryAfter time.Duration // what the API asks for; 0 if it does not
	Details    View          // of the status: causes with fields and messages
}

// Error is the message of the API.
func (e *APIError) Error() string { return e.Message }

// Is tells whether the error is one of those of this package.
func (e *APIError) Is(target error) bool { return target != nil && target == e.sentinel() }

// sentinel is the error of this package that stands for the reason, or for the
// status of an answer without one.
func (e *APIError) sentinel() error {
	switch e.Reason {
	case "NotFound":
		return ErrNotFound
	case "AlreadyExists":
		return ErrAlreadyExists
	case "Conflict":
		return ErrConflict
	case "Forbidden":
		return ErrForbidden
	case "Invalid", "BadRequest":
		return ErrInvalid
	case "Expired", "Gone":
		return ErrExpired
	case "TooManyRequests":
		return ErrBusy
	case "":
		return e.ofStatus()
	}
	return nil
}

func (e *APIError) ofStatus() error {
	switch e.Code {
	case 403:
		return ErrForbidden
	case 404:
		return ErrNotFound
	case 409:
		return ErrConflict
	case 410:
		return ErrExpired
	case 422:
		return ErrInvalid
	case 429:
		return ErrBusy
	}
	return nil
}

func newAPIError(rsp *Response) *APIError {
	e := &APIError{Code: rsp.Status}
	if status := rsp.JSON(); status.Get("kind").String() == "Status" {
		e.Reason, e.Message, e.Details = status.Get("reason").String(), status.Get("message").String(), status.Get("details")
	}
	if e.Message == "" {
		e.Message = "the API answered with the status " + strconv.Itoa(rsp.Status)
	}
	if values := rsp.Header["Retry-After"]; len(values) > 0 {
		if s, err := strconv.Atoi(values[0]); err == nil {
			e.RetryAfter = time.Duration(s) * time.Second
		}
	}
	return e
}

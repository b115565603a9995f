package filters

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kopf-wasm/kopf/abi"
)

// ErrAnswer means that a callback failed, or answered something other than true or false.
// As in Kopf, it is an error of the whole cycle, not of the handler: it is unknown whether
// the handler matches. For a filter of a sub-handler, it is an error of the parent.
var ErrAnswer = errors.New("a filter failed")

// CallbackError is the ErrAnswer of a callback that itself has failed.
type CallbackError struct {
	Failure abi.Error // the failure as the callback returned it
}

// Error describes the failure.
func (e *CallbackError) Error() string {
	message := e.Failure.Message
	if message == "" {
		message = e.Failure.Type
	}
	return fmt.Sprintf("%v: %s", ErrAnswer, message)
}

// Unwrap returns ErrAnswer.
func (e *CallbackError) Unwrap() error { return ErrAnswer }

// Holds reports whether all callbacks of one question hold.
//
// Errors: ErrAnswer; a CallbackError if a callback has failed.
func Holds(v abi.Verdict) (bool, error) {
	if v.Error != nil {
		return false, &CallbackError{*v.Error}
	}
	var holds *bool
	if err := json.Unmarshal(v.Value, &holds); err != nil || holds == nil {
		return false, fmt.Errorf("%w: it must answer true or false, not %.100q", ErrAnswer, v.Value)
	}
	return *holds, nil
}

package filters

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kopf-wasm/kopf/abi"
)

// ErrAnswer is the error for a callback that failed, or that answered something
// else than true or false. It is an error of the whole cycle, as in the
// reference, not of the handler: whether there is anything to handle is unknown.
// For filters of sub-handlers, it is one of their parent, which has asked.
var ErrAnswer = errors.New("a filter failed")

// CallbackError is the ErrAnswer of a callback that has failed by itself.
type CallbackError struct {
	Failure abi.Error // as the callback has given it
}

func (e *CallbackError) Error() string {
	message := e.Failure.Message
	if message == "" {
		message = e.Failure.Type
	}
	return fmt.Sprintf("%v: %s", ErrAnswer, message)
}

func (e *CallbackError) Unwrap() error { return ErrAnswer }

// Holds tells whether the callbacks of one question all held.
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

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
var ErrAnswer = errors.New("a filter failed")

// Holds tells whether the callbacks of one question all held.
//
// Errors: ErrAnswer.
func Holds(v abi.Verdict) (bool, error) {
	if v.Error != nil {
		message := v.Error.Message
		if message == "" {
			message = v.Error.Type
		}
		return false, fmt.Errorf("%w: %s", ErrAnswer, message)
	}
	var holds *bool
	if err := json.Unmarshal(v.Value, &holds); err != nil || holds == nil {
		return false, fmt.Errorf("%w: it must answer true or false, not %.100q", ErrAnswer, v.Value)
	}
	return *holds, nil
}

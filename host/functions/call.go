package functions

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/bounded"
)

// Answer makes a request, which is a message of the ABI in JSON, and waits for the response.
// A message that is malformed is answered with the error abi.CallInvalid, one of more than MaxCall
// bytes with abi.CallTooLarge.
func Answer(g Guest, data []byte) abi.Answer {
	if len(data) > MaxCall {
		return abi.Answer{Error: &abi.Error{Kind: abi.ErrorPermanent, Type: abi.CallTooLarge, Message: fmt.Sprintf("the call has %d bytes; the limit is %d", len(data), MaxCall)}}
	}
	wanted, err := parseCall(data)
	if err != nil {
		return abi.Answer{Error: &abi.Error{Kind: abi.ErrorPermanent, Type: abi.CallInvalid, Message: "invalid call: " + err.Error()}}
	}
	return g.Request(wanted)
}

// maxHeaders bounds the decoded values of headers: millions of empty values take sixty times
// the memory of their text. The body stays text.
const maxHeaders = 200_000

func parseCall(data []byte) (*abi.Call, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("it is not UTF-8")
	}
	var message struct {
		abi.Call
		Headers json.RawMessage `json:"headers"`
	}
	if err := json.Unmarshal(data, &message); err != nil {
		return nil, err
	}
	return &message.Call, Headers(message.Headers, &message.Call.Headers)
}

// Headers decodes the headers of a request, unless they are absent.
func Headers(text json.RawMessage, into any) error {
	if len(text) == 0 {
		return nil
	}
	if err := bounded.JSON(text, maxHeaders); err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

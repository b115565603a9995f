package calls

import (
	"context"
	"errors"
	"fmt"

	"github.com/kopf-wasm/kopf/abi"
)

// refusal is a request without an answer: its code tells guests why.
type refusal struct {
	code    string // one of abi.Call…
	message string
}

func (r *refusal) Error() string { return r.message }

func invalid(format string, args ...any) error {
	return &refusal{abi.CallInvalid, "invalid call: " + fmt.Sprintf(format, args...)}
}

// permanent are the codes that another attempt will not change.
var permanent = map[string]bool{
	abi.CallNotGranted: true, abi.CallInvalid: true, abi.CallReadOnly: true, abi.CallTooLarge: true, abi.CallNotReady: true,
}

// wireError is an error as the guest gets it.
func wireError(ctx context.Context, err error) *abi.Error {
	var refused *refusal
	switch {
	case errors.As(err, &refused) && permanent[refused.code]:
		return &abi.Error{Kind: abi.ErrorPermanent, Type: refused.code, Message: refused.message}
	case ctx.Err() != nil:
		return &abi.Error{Kind: abi.ErrorArbitrary, Type: abi.CallCancelled, Message: "the request was abandoned: the handler is cancelled"}
	case refused != nil:
		return &abi.Error{Kind: abi.ErrorArbitrary, Type: refused.code, Message: refused.message}
	}
	return &abi.Error{Kind: abi.ErrorArbitrary, Type: abi.CallUnreachable, Message: err.Error()}
}

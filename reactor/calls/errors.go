package calls

import (
	"context"
	"errors"
	"fmt"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
)

// refusal is the error of a request without a response. Its code gives the guest the
// reason.
type refusal struct {
	code    string // one of the constants abi.Call…
	message string
}

func (r *refusal) Error() string { return r.message }

func invalid(format string, args ...any) error {
	return &refusal{abi.CallInvalid, "invalid call: " + fmt.Sprintf(format, args...)}
}

// permanent are the codes for which a retry cannot succeed. A grant is not among them: the next
// start of the operator may have it.
var permanent = map[string]bool{
	abi.CallInvalid: true, abi.CallReadOnly: true, abi.CallTooLarge: true, abi.CallNotReady: true,
}

// wireError converts an error into the form that the guest gets.
func wireError(ctx context.Context, err error) *abi.Error {
	var refused *refusal
	switch {
	case errors.As(err, &refused) && permanent[refused.code]:
		return &abi.Error{Kind: abi.ErrorPermanent, Type: refused.code, Message: refused.message}
	case refused != nil && refused.code == abi.CallNotGranted: // whether the handler is cancelled or not
		return &abi.Error{Kind: abi.ErrorArbitrary, Type: refused.code, Message: refused.message}
	case ctx.Err() != nil:
		return &abi.Error{Kind: abi.ErrorArbitrary, Type: abi.CallCancelled, Message: "the request was abandoned: the handler is cancelled"}
	case errors.Is(err, accounts.ErrLimit): // there may be room later
		return &abi.Error{Kind: abi.ErrorArbitrary, Type: abi.CallTooLarge, Message: err.Error()}
	case refused != nil:
		return &abi.Error{Kind: abi.ErrorArbitrary, Type: refused.code, Message: refused.message}
	}
	return &abi.Error{Kind: abi.ErrorArbitrary, Type: abi.CallUnreachable, Message: err.Error()}
}

package reactor

import (
	"context"

	"github.com/kopf-wasm/kopf/abi"
)

// request makes a request for the guest. A daemon that is cancelled, and an operator
// that gives up on the handler, end it.
func (t *conversation) request(ctx context.Context, call *abi.Call) (abi.Answer, error) {
	if t.cause.caller == nil {
		return noRequests(), nil
	}
	calling, abandon := context.WithCancel(ctx)
	defer abandon()
	if s := t.cause.stopper; s != nil && !t.cancelled {
		if watch := s.nap(nil, abi.StopDaemonCancelled, abandon); watch != nil {
			defer s.forget(watch)
		} else {
			abandon()
		}
	}
	answer := t.cause.caller.Call(calling, call, t.cause.readOnly)
	switch {
	case ctx.Err() != nil:
		return abi.Answer{}, t.cancelNow(ctx)
	case calling.Err() != nil: // and it is the daemon that is cancelled
		t.cancelled = true
		if err := t.task.Cancel(ctx); err != nil {
			return abi.Answer{}, &guestError{err}
		}
	}
	answer.Cancelled = t.cancelled
	return answer, nil
}

func noRequests() abi.Answer {
	return abi.Answer{Error: &abi.Error{Kind: abi.ErrorPermanent, Type: abi.CallNotReady, Message: "requests cannot be made here"}}
}

package handling

import (
	"context"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
)

// request makes a request for the guest. It ends early if the daemon is cancelled, or if
// the operator gives up on the handler.
func (t *Conversation) request(ctx context.Context, call *abi.Call) (abi.Answer, error) {
	if t.Cause.Caller == nil {
		return noRequests(), nil
	}
	calling, abandon := context.WithCancel(ctx)
	defer abandon()
	if s := t.Cause.Stopper(); s != nil && !t.cancelled {
		if watch := s.Await(nil, abi.StopDaemonCancelled, abandon); watch != nil {
			defer s.Forget(watch)
		} else {
			abandon()
		}
	}
	answer := t.Cause.Caller.Call(calling, call, t.Cause.readOnly)
	switch {
	case ctx.Err() != nil:
		return abi.Answer{}, t.cancelNow(ctx)
	case calling.Err() != nil: // the context of the daemon is still alive: the daemon was cancelled
		t.cancelled = true
		if err := t.Task.Cancel(ctx); err != nil {
			return abi.Answer{}, &guestError{err}
		}
	}
	answer = t.keep(answer)
	answer.Cancelled = t.cancelled
	return answer, nil
}

// keep counts an answer in the account until the handler has it: many handlers may wait
// for one instance.
func (t *Conversation) keep(answer abi.Answer) abi.Answer {
	if answer.Response == nil {
		return answer
	}
	size := len(answer.Response.Body)
	if err := t.Cause.Account.Take(accounts.Answers, size); err != nil {
		return abi.Answer{Error: &abi.Error{Kind: abi.ErrorArbitrary, Type: abi.CallTooLarge, Message: err.Error()}}
	}
	t.answered = size
	return answer
}

func noRequests() abi.Answer {
	return abi.Answer{Error: &abi.Error{Kind: abi.ErrorPermanent, Type: abi.CallNotReady, Message: "requests cannot be made here"}}
}

package handling

import (
	"context"
	"fmt"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/durations"
	"github.com/kopf-wasm/kopf/internal/panics"
	"github.com/kopf-wasm/kopf/reactor/calls"
)

// underway is a request that has no answer yet.
type underway struct {
	ctx     context.Context // of the request
	abandon context.CancelFunc
	done    chan struct{} // closed when there is an answer
	answer  abi.Answer
	held    int // bytes of the answer in the account
}

// request makes a request for the guest, or continues to wait for the answer. It ends early
// if the daemon is cancelled, if the operator gives up on the handler, or after the seconds
// of the step: then the request continues.
func (t *Conversation) request(ctx context.Context, step *abi.Step) (abi.Answer, error) {
	switch {
	case t.Cause.Caller == nil:
		return noRequests(), nil
	case !step.Continue:
		t.send(ctx, step.Call)
	case t.underway == nil:
		return abi.Answer{}, &guestError{fmt.Errorf("%w: a step continues a request, but none is under way", abi.ErrGuest)}
	}
	r := t.underway
	defer t.watch(r.abandon)()
	if !r.await(step.Seconds) {
		return abi.Answer{}, nil
	}
	t.underway, t.held.answered = nil, r.held
	defer r.abandon()
	switch {
	case ctx.Err() != nil:
		return abi.Answer{}, t.cancelNow(ctx)
	case r.ctx.Err() != nil && !t.cancelled: // the context of the daemon is still alive: the daemon was cancelled
		t.cancelled = true
		if err := t.Task.Cancel(ctx); err != nil {
			return abi.Answer{}, &guestError{err}
		}
	}
	answer := r.answer
	answer.Cancelled = t.cancelled
	return answer, nil
}

// send begins a request.
func (t *Conversation) send(ctx context.Context, call *abi.Call) {
	calling, abandon := context.WithCancel(ctx)
	r := &underway{ctx: calling, abandon: abandon, done: make(chan struct{})}
	cause := t.Cause
	go func() { // Waited for by request or by abandon.
		defer close(r.done)
		r.answer, r.held = cause.exchange(calling, call)
	}()
	t.underway = r
}

// await waits for the answer, and at most for the seconds. It returns false if there is none.
func (r *underway) await(seconds *float64) bool {
	var over <-chan time.Time
	if seconds != nil {
		timer := time.NewTimer(durations.Seconds(*seconds))
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-r.done:
		return true
	case <-over:
		return false
	}
}

// watch abandons a request when the daemon is cancelled, at once if it is cancelled already
// and the guest does not know. The returned function ends that.
func (t *Conversation) watch(abandon context.CancelFunc) (forget func()) {
	s := t.Cause.Stopper()
	if s == nil || t.cancelled {
		return func() {}
	}
	watch := s.Await(nil, abi.StopDaemonCancelled, abandon)
	if watch == nil {
		abandon()
		return func() {}
	}
	return func() { s.Forget(watch) }
}

// abandon ends the request that is under way, if there is one.
func (t *Conversation) abandon() {
	if r := t.underway; r != nil {
		t.underway = nil
		r.abandon()
		<-r.done
		t.Cause.Account.Give(accounts.Answers, r.held)
	}
}

// exchange makes a request. The account counts its body until the answer, and the answer as it arrives and from then on: many requests
// wait for their turn, servers send as slowly as they like, and many handlers wait for an instance, or do not ask for their answers. The
// caller gives back what is held.
func (c *Cause) exchange(ctx context.Context, call *abi.Call) (answer abi.Answer, held int) {
	lease := accounts.Open(c.Account, accounts.Answers)
	err := lease.Grow(copiesOfBody*len(call.Body) + len(call.Target) + len(call.Method) + len(call.Path) + len(call.Encoding) + calls.HeaderBytes(call.Headers))
	if err == nil {
		answer = request(ctx, c, call, lease)
		if rsp := answer.Response; rsp != nil {
			held = len(rsp.Body) + calls.HeaderBytes(rsp.Headers)
		}
		err = lease.Resize(held)
	}
	if err != nil {
		lease.Release()
		return tooLarge(err), 0
	}
	return answer, held
}

// request makes a request. It is made on a goroutine of its own, so a panic must end here.
func request(ctx context.Context, c *Cause, call *abi.Call, held *accounts.Lease) (answer abi.Answer) {
	var err error
	defer func() {
		if err != nil {
			c.Log.Failure(fmt.Sprintf("A request has failed: %v", err), panics.StackOf(err))
			answer.Error = &abi.Error{Kind: abi.ErrorArbitrary, Type: abi.CallUnreachable, Message: err.Error()}
		}
	}()
	defer panics.Recover(&err)
	return c.Caller.Call(ctx, call, c.readOnly, held)
}

// copiesOfBody is the number of copies of a request's body in memory: the one that the guest wrote, and the one that is sent.
const copiesOfBody = 2

func tooLarge(err error) abi.Answer {
	return abi.Answer{Error: &abi.Error{Kind: abi.ErrorArbitrary, Type: abi.CallTooLarge, Message: err.Error()}}
}

func noRequests() abi.Answer {
	return abi.Answer{Error: &abi.Error{Kind: abi.ErrorPermanent, Type: abi.CallNotReady, Message: "requests cannot be made here"}}
}

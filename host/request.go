package host

import (
	"context"
	"time"

	"github.com/kopf-wasm/kopf/abi"
)

// Request implements functions.Guest. Other guests compute meanwhile.
func (c *call) Request(wanted *abi.Call) abi.Answer {
	var r Requester
	if c.owner != nil {
		r, _ = c.owner.functions.Env.(Requester)
	}
	if r == nil {
		return abi.Answer{Error: &abi.Error{Kind: abi.ErrorPermanent, Type: abi.CallNotReady, Message: "requests cannot be made here"}}
	}
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	var answer abi.Answer
	done := make(chan struct{})
	c.slept += c.away(func() {
		go func() { // Waited for below.
			defer close(done)
			answer = r.Call(ctx, wanted)
		}()
		select {
		case <-done:
		case <-c.woken:
			cancel()
		}
		<-done
	})
	c.in.clock.Set(c.guestTime(time.Now()))
	if !c.in.isOnly() { // that one may have stopped at a breakpoint, and its calls have no limit
		c.check()
	}
	c.newStep()
	return answer
}

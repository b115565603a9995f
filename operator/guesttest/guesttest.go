// Package guesttest has guests without WebAssembly, for tests of tools that call handlers.
package guesttest

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/guests"
)

// Guest is a guest whose handlers are functions of Go.
type Guest struct {
	Handlers []abi.Handler
	Do       map[string]Handler // by id

	mu    sync.Mutex
	calls map[string]int
}

// Handler makes the next step of a call. The answer is the one to the last step; nil for the
// first one.
type Handler func(c *Call, answer *abi.Answer) *abi.Step

// Call is one call of a handler.
type Call struct {
	guests.Env
	*abi.Invocation
	Body  []byte
	Count int // calls of this handler so far, from 1
	Steps int // of this call so far, from 0
}

// Name implements guests.Guest.
func (*Guest) Name() string { return "guest" }

// Registration implements guests.Guest.
func (g *Guest) Registration() *abi.Registration { return &abi.Registration{Handlers: g.Handlers} }

// Ask answers all questions with yes.
func (*Guest) Ask(_ context.Context, q *abi.Questions, _ []byte, _ guests.Env) (*abi.Answers, error) {
	answers := &abi.Answers{}
	for range q.Questions {
		answers.Answers = append(answers.Answers, abi.Verdict{Value: abi.Raw("true")})
	}
	return answers, nil
}

// Start calls the function of the handler.
func (g *Guest) Start(_ context.Context, inv *abi.Invocation, body []byte, e guests.Env) (guests.Task, *abi.Step, error) {
	g.mu.Lock()
	if g.calls == nil {
		g.calls = map[string]int{}
	}
	g.calls[inv.ID]++
	c := &Call{Env: e, Invocation: inv, Body: body, Count: g.calls[inv.ID]}
	g.mu.Unlock()
	do := g.Do[inv.ID]
	if do == nil {
		do = func(*Call, *abi.Answer) *abi.Step { return Done(abi.Outcome{}) }
	}
	return &task{guest: g, call: c, do: do}, do(c, nil), nil
}

// task is a call that is not released.
type task struct {
	guest *Guest
	call  *Call
	do    Handler
}

// Start calls a sub-handler.
func (t *task) Start(ctx context.Context, inv *abi.Invocation, body []byte, e guests.Env) (guests.Task, *abi.Step, error) {
	return t.guest.Start(ctx, inv, body, e)
}

// Ask implements guests.Asker.
func (t *task) Ask(ctx context.Context, q *abi.Questions, body []byte, e guests.Env) (*abi.Answers, error) {
	return t.guest.Ask(ctx, q, body, e)
}

// Resume makes the next step.
func (t *task) Resume(_ context.Context, answer abi.Answer) (*abi.Step, error) {
	t.call.Steps++
	return t.do(t.call, &answer), nil
}

// Cancel does nothing: the answer to the last step says it, too.
func (*task) Cancel(context.Context) error { return nil }

// Transform implements guests.Task.
func (*task) Transform(_ context.Context, body []byte) ([]byte, error) { return body, nil }

// Release implements guests.Task.
func (*task) Release(context.Context) {}

// Done is the last step of a handler.
func Done(o abi.Outcome) *abi.Step { return &abi.Step{Step: abi.StepDone, Outcome: o} }

// Result is the last step of a handler with a result.
func Result(text string) *abi.Step { return Done(abi.Outcome{Result: abi.Raw(text)}) }

// Patch is the last step of a handler with a patch.
func Patch(text string) *abi.Step { return Done(abi.Outcome{Patch: abi.Raw(text)}) }

// Temporary is the last step of a handler that fails for a time, in seconds.
func Temporary(message string, delay float64) *abi.Step {
	return Done(abi.Outcome{Error: &abi.Error{Kind: abi.ErrorTemporary, Message: message, Delay: abi.DelayOf(delay)}})
}

// Permanent is the last step of a handler that fails for good.
func Permanent(message string) *abi.Step {
	return Done(abi.Outcome{Error: &abi.Error{Kind: abi.ErrorPermanent, Message: message}})
}

// Wait waits for a time, in seconds.
func Wait(seconds float64) *abi.Step {
	return &abi.Step{Step: abi.StepWait, Seconds: &seconds, Stoppable: true}
}

// Get requests a path of the cluster.
func Get(path string) *abi.Step {
	return &abi.Step{Step: abi.StepCall, Call: &abi.Call{Target: abi.TargetKubernetes, Method: "GET", Path: path}}
}

// Declared is a handler of a kind for examples of Kopf, from its further options in JSON.
func Declared(kind abi.Kind, id, options string) abi.Handler {
	h := abi.Handler{}
	if options != "" {
		if err := json.Unmarshal([]byte(options), &h); err != nil {
			panic(err)
		}
	}
	h.Kind, h.ID, h.Fn = kind, id, id
	switch kind {
	case abi.KindStartup, abi.KindCleanup, abi.KindLogin, abi.KindProbe, abi.KindBackground:
	default:
		h.Resource = &abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
	}
	return h
}

// Package crossings shows everything that passes the border between the reactor and its
// guests, in both directions. Tools that look at single calls use it: kopf invoke, kopf test
// and kopf run --record.
package crossings

import (
	"context"
	"sync/atomic"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/reactor/guests"
)

// Crossing is one message over the border.
type Crossing struct {
	Guest string // the name of the guest
	Call  int    // the number of the call of a handler, or of the questions; from 1
	What  any    // one of the message types of this package
}

// Border is what several guests have in common.
type Border struct {
	// See is called with each message, on the goroutine of the call: concurrently for several
	// calls. The data is valid only during the call of See.
	See func(c Crossing)

	// Answer answers a request of a guest in place of the operator. If it returns nil, the
	// operator makes the request. Nil: the operator makes all requests.
	Answer func(call *abi.Call) *abi.Answer

	// Surroundings shows the clock and the random numbers of guests, too. Their modules need
	// host.Options.Surrounded.
	Surroundings bool

	calls atomic.Int64
}

// Guest returns a guest that behaves as the given one, and whose messages are seen.
func (b *Border) Guest(g guests.Guest) guests.Guest { return &guest{Guest: g, border: b} }

func (b *Border) next() int { return int(b.calls.Add(1)) }

// side is one call on the border.
type side struct {
	border *Border
	guest  string
	call   int
}

func (s *side) see(what any) { s.border.See(Crossing{Guest: s.guest, Call: s.call, What: what}) }

func (s *side) context(ctx context.Context) context.Context {
	if !s.border.Surroundings {
		return ctx
	}
	return host.WithSurroundings(ctx, surroundings{s})
}

// failed shows the failure of a guest.
func (s *side) failed(err error) {
	if err != nil {
		s.see(Failure{err})
	}
}

type guest struct {
	guests.Guest
	border *Border
}

func (g *guest) side() *side { return &side{g.border, g.Name(), g.border.next()} }

// Start implements guests.Starter.
func (g *guest) Start(ctx context.Context, inv *abi.Invocation, body []byte, e guests.Env) (guests.Task, *abi.Step, error) {
	return g.side().start(ctx, g.Guest, 0, inv, body, e)
}

// Keep implements guests.Keeper.
func (g *guest) Keep(succeeded bool) error { return guests.Keep(g.Guest, succeeded) }

// Ask implements guests.Asker.
func (g *guest) Ask(ctx context.Context, q *abi.Questions, body []byte, e guests.Env) (*abi.Answers, error) {
	return g.side().ask(ctx, g.Guest, 0, q, body, e)
}

func (s *side) start(ctx context.Context, of guests.Starter, parent int, inv *abi.Invocation, body []byte, e guests.Env) (guests.Task, *abi.Step, error) {
	s.see(Start{Parent: parent, Invocation: inv, Body: body})
	task, step, err := of.Start(s.context(ctx), inv, body, &env{e, s})
	if err != nil {
		s.failed(err)
		return nil, nil, err
	}
	return s.answered(ctx, &observed{task, s}, step)
}

// answered answers requests of a first step in place of the operator.
func (s *side) answered(ctx context.Context, t *observed, step *abi.Step) (guests.Task, *abi.Step, error) {
	step, err := t.stepped(ctx, step)
	if err != nil {
		t.Release(context.WithoutCancel(ctx))
		return nil, nil, err
	}
	return t, step, nil
}

func (s *side) ask(ctx context.Context, of guests.Asker, parent int, q *abi.Questions, body []byte, e guests.Env) (*abi.Answers, error) {
	s.see(Ask{Parent: parent, Questions: q, Body: body})
	answers, err := of.Ask(s.context(ctx), q, body, &env{e, s})
	if err != nil {
		s.failed(err)
		return nil, err
	}
	s.see(Answers{answers})
	return answers, nil
}

// observed is a task whose messages are seen.
type observed struct {
	guests.Task
	*side
}

// Start implements guests.Starter for sub-handlers.
func (t *observed) Start(ctx context.Context, inv *abi.Invocation, body []byte, e guests.Env) (guests.Task, *abi.Step, error) {
	child := &side{t.border, t.guest, t.border.next()}
	return child.start(ctx, t.Task, t.call, inv, body, e)
}

// Ask implements guests.Asker for sub-handlers.
func (t *observed) Ask(ctx context.Context, q *abi.Questions, body []byte, e guests.Env) (*abi.Answers, error) {
	asked := &side{t.border, t.guest, t.border.next()}
	return asked.ask(ctx, t.Task, t.call, q, body, e)
}

// Resume implements guests.Task.
func (t *observed) Resume(ctx context.Context, answer abi.Answer) (*abi.Step, error) {
	step, err := t.resumed(ctx, answer)
	if err != nil {
		return nil, err
	}
	return t.stepped(ctx, step)
}

func (t *observed) resumed(ctx context.Context, answer abi.Answer) (*abi.Step, error) {
	t.see(Resume{answer})
	step, err := t.Task.Resume(t.context(ctx), answer)
	t.failed(err)
	return step, err
}

// stepped shows a step. While the step is a request that has an answer, it resumes the task.
func (t *observed) stepped(ctx context.Context, step *abi.Step) (*abi.Step, error) {
	for {
		t.see(Step{step})
		if step.Step != abi.StepCall || step.Call == nil || t.border.Answer == nil {
			return step, nil
		}
		answer := t.border.Answer(step.Call)
		if answer == nil {
			return step, nil
		}
		t.see(Request{step.Call, *answer})
		var err error
		if step, err = t.resumed(ctx, *answer); err != nil {
			return nil, err
		}
	}
}

// Cancel implements guests.Task.
func (t *observed) Cancel(ctx context.Context) error {
	t.see(Cancel{})
	err := t.Task.Cancel(t.context(ctx))
	t.failed(err)
	return err
}

// Transform implements guests.Task.
func (t *observed) Transform(ctx context.Context, body []byte) ([]byte, error) {
	t.see(Transform{body})
	result, err := t.Task.Transform(t.context(ctx), body)
	if err != nil {
		t.failed(err)
		return nil, err
	}
	t.see(Transformed{result})
	return result, nil
}

// Release implements guests.Task.
func (t *observed) Release(ctx context.Context) {
	t.see(Release{})
	t.Task.Release(t.context(ctx))
}

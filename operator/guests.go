package operator

import (
	"context"
	"errors"
	"fmt"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/reactor"
)

// guest is a module of the host as the reactor knows guests.
type guest struct{ *host.Module }

var _ reactor.Guest = guest{}

func (g guest) Start(ctx context.Context, inv *abi.Invocation, body []byte, e reactor.Env) (reactor.Task, *abi.Step, error) {
	return started(g.Module.Start(ctx, inv, body, env{e}))
}

func (g guest) Ask(ctx context.Context, q *abi.Questions, body []byte, e reactor.Env) (*abi.Answers, error) {
	return g.Module.Ask(ctx, q, body, env{e})
}

// task is a task of the host as the reactor knows tasks.
type task struct{ *host.Task }

var _ reactor.Task = task{}

func (t task) Start(ctx context.Context, inv *abi.Invocation, body []byte, e reactor.Env) (reactor.Task, *abi.Step, error) {
	return started(t.Task.Start(ctx, inv, body, env{e}))
}

func (t task) Ask(ctx context.Context, q *abi.Questions, body []byte, e reactor.Env) (*abi.Answers, error) {
	return t.Task.Ask(ctx, q, body, env{e})
}

func started(t *host.Task, step *abi.Step, err error) (reactor.Task, *abi.Step, error) {
	if err != nil {
		return nil, nil, failure(err)
	}
	return task{t}, step, nil
}

// guestFailure shows the stack of a failed guest to the reactor.
type guestFailure struct{ *host.GuestError }

// GuestStack is what the guest has left about its failure.
func (f guestFailure) GuestStack() string { return f.Stack }

// GuestMessage is the guest's own message.
func (f guestFailure) GuestMessage() string { return f.Message }

func failure(err error) error {
	var detailed *host.GuestError
	switch {
	case errors.Is(err, host.ErrDead):
		return fmt.Errorf("%w: %w", reactor.ErrInstanceLost, err)
	case errors.As(err, &detailed):
		return guestFailure{detailed}
	}
	return err
}

func (t task) Resume(ctx context.Context, answer abi.Answer) (*abi.Step, error) {
	step, err := t.Task.Resume(ctx, answer)
	if err != nil {
		return nil, failure(err)
	}
	return step, nil
}

// env translates the errors of the reactor's answers for the host.
type env struct{ reactor.Env }

var _ host.Env = env{}

func (e env) MemoSet(scope int, key string, value []byte, version int64) (uint64, error) {
	next, err := e.Env.MemoSet(scope, key, value, version)
	return next, translated(err)
}

func (e env) Index(op int, name string, key []byte) ([]byte, error) {
	found, err := e.Env.Index(op, name, key)
	return found, translated(err)
}

func translated(err error) error {
	switch {
	case errors.Is(err, reactor.ErrConflict):
		return host.ErrConflict
	case errors.Is(err, reactor.ErrAbsent):
		return host.ErrAbsent
	}
	return err
}

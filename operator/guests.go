package operator

import (
	"context"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/reactor/guests"
)

// guest adapts a module of the host to the interface of the reactor.
type guest struct{ *host.Module }

var _ guests.Guest = guest{}

// GuestOf returns a module as a guest of the reactor. Tools that call single handlers use it.
func GuestOf(m *host.Module) guests.Guest { return guest{m} }

func (g guest) Start(ctx context.Context, inv *abi.Invocation, body []byte, e guests.Env) (guests.Task, *abi.Step, error) {
	return started(g.Module.Start(ctx, inv, body, e))
}

func (g guest) Ask(ctx context.Context, q *abi.Questions, body []byte, e guests.Env) (*abi.Answers, error) {
	return g.Module.Ask(ctx, q, body, e)
}

// task adapts a task of the host to the interface of the reactor.
type task struct{ *host.Task }

var _ guests.Task = task{}

func (t task) Start(ctx context.Context, inv *abi.Invocation, body []byte, e guests.Env) (guests.Task, *abi.Step, error) {
	return started(t.Task.Start(ctx, inv, body, e))
}

func (t task) Ask(ctx context.Context, q *abi.Questions, body []byte, e guests.Env) (*abi.Answers, error) {
	return t.Task.Ask(ctx, q, body, e)
}

func started(t *host.Task, step *abi.Step, err error) (guests.Task, *abi.Step, error) {
	if err != nil {
		return nil, nil, err
	}
	return task{t}, step, nil
}

package operator

import (
	"context"
	"fmt"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/host/registration"
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

// checkTogether refuses guests that register different functions under one id for the same
// cause. Each module was checked only for itself.
func checkTogether(guests []guests.Guest) error {
	var handlers []abi.Handler
	for i, guest := range guests {
		for _, h := range guest.Registration().Handlers {
			h.Fn = fmt.Sprintf("%s of %s (module %d)", h.Fn, guest.Name(), i+1)
			handlers = append(handlers, h)
		}
	}
	if err := registration.CheckTwins(handlers); err != nil {
		return fmt.Errorf("the modules cannot be one operator: %w", err)
	}
	return nil
}

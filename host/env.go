package host

import (
	"context"

	"github.com/kopf-wasm/kopf/host/functions"
)

// Env provides the host functions of one invocation that concern the object and the
// operator. Methods must not call the Task or the Module.
type Env = functions.Env

// Requester is an optional interface of Env. It makes requests for guests that cannot wait
// by steps.
type Requester = functions.Requester

// Waiter is an optional interface of Env. The host calls it when a task waits without a
// step: for an instance that is in use, or inside a host function.
type Waiter = functions.Waiter

// waits informs an Env, if it is a Waiter. A nil Env is ignored.
func waits(env Env) {
	if w, ok := env.(Waiter); ok {
		w.Waits()
	}
}

// seize puts a token into a channel. It informs the Env if it has to wait.
func seize(ctx context.Context, tokens chan<- struct{}, env Env) error {
	select {
	case tokens <- struct{}{}: // preferred over an ended context, which a single select would choose at random
		return nil
	default:
	}
	waits(env)
	select {
	case tokens <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

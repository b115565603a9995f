package reactor

import (
	"context"
	"sync"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/loggers"
)

// beforeLogin returns a function that makes a client for the requests of startup handlers, with the credentials of the host, at the
// first of them. It returns nil if login handlers choose the credentials: they come after the startup handlers. The client ends with
// the context.
//
// In Kopf, startup handlers use clients of their own, and some operators create their definitions so.
func (op *Operator) beforeLogin(ctx context.Context) func() *clients.Client {
	return sync.OnceValue(func() *clients.Client {
		if len(op.generations.Present().Registry.Activities[abi.KindLogin]) > 0 {
			return nil
		}
		log := op.Log.With().Str(loggers.Field, "kopf.reactor").Logger()
		vault := credentials.New(func(ctx context.Context, _ bool) (map[string]credentials.Info, error) {
			return credentials.FromHost(ctx, op.Logins, log)
		})
		go func() { _ = vault.Run(ctx) }() // It ends with the context; requests return its error.
		return clients.New(vault, op.requestOptions, func(message string) { log.Error().Msg(message) })
	})
}

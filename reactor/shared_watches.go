package reactor

import (
	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/sharing"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// watches returns the function that makes the sources of watches; nil if the operator shares
// none. If guests may choose the server or the proxy, the operator shares only with
// Options.Access: through a connection of the guest's choice, any account has all rights.
func (op *Operator) watches() func(dimensions.Dimension) watching.Source {
	if op.Watches == nil || op.Access == nil && (op.AllowServer || op.AllowProxy) {
		return nil
	}
	by := sharing.Subscriber{
		Client: op.client, Access: op.Access,
		Log: func(level int, message string) {
			log := op.Log.With().Str(loggers.Field, "kopf.reactor").Logger() // rarely needed, and half a kilobyte
			log.WithLevel(loggers.ZerologLevel(level)).Msg(message)
		},
	}
	return func(d dimensions.Dimension) watching.Source {
		r := d.Resource
		return op.Watches.Source(by, sharing.Scope{Group: r.Group, Version: r.Version, Plural: r.Plural, Namespace: d.Namespace})
	}
}

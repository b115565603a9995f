package streams

import (
	"context"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/claims"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/completion"
	"github.com/kopf-wasm/kopf/reactor/daemons"
	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/generations"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/loops"
	"github.com/kopf-wasm/kopf/reactor/membership"
	"github.com/kopf-wasm/kopf/reactor/meters"
	"github.com/kopf-wasm/kopf/reactor/pauses"
	"github.com/kopf-wasm/kopf/reactor/processing"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// Common is what the streams of one operator share.
type Common struct {
	Generations *generations.Generations
	Settings    *settings.Settings
	Client      *clients.Client
	Account     *accounts.Account
	Memories    *processing.Memories
	Runnables   *daemons.Runnables
	Completion  *completion.Completion
	Pauses      *pauses.Pauses
	Streams     *Set
	States      *watching.Set
	Watches     func(d dimensions.Dimension) watching.Source // nil: each watch has a connection of its own
	Loops       *loops.Limiter                               // nil: no limit
	Waits       *meters.Histogram                            // how long events wait; nil: nothing measures it
	Leader      *Leader                                      // nil: there are no other replicas
	Holdings    *membership.Holdings                         // nil: all objects belong to this replica
	Claims      *claims.Claims                               // nil: no check for other operators
	By          claims.Claimant
	Ending      <-chan struct{} // closed when the operator ends, which then gives back all claims; nil: it never does
	Log         zerolog.Logger
	Many        func() (end func()) // see watching.Stream; nil: nothing
	RefKey      string              // the log field that holds the reference of the object
}

// Serve serves one resource in one namespace until the context ends. It then waits for the
// workers of its objects, within the patience, and calls ended. It may return before: a stream that
// waits for events of a shared watch has no goroutine. While the operator pauses, nothing is
// watched, but queued events are still handled. If the resource or the namespace is gone by
// then, all objects that were known are handled as deleted.
func (c *Common) Serve(ctx context.Context, d *dimensions.Dimension, ended func()) {
	if s := c.newStream(ctx, d); s != nil {
		s.serve(ctx, ended)
	} else {
		ended()
	}
}

// log returns the logger of streams. It is made for each use, because a logger takes half a
// kilobyte.
func (c *Common) log() *zerolog.Logger {
	return new(c.Log.With().Str(loggers.Field, "kopf.reactor").Logger())
}

package reactor

import (
	"context"
	"errors"

	"github.com/kopf-wasm/kopf/reactor/claims"
	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/pauses"
	"github.com/kopf-wasm/kopf/reactor/peering"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/streams"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// errNoNamespace means that an operator of the whole cluster has no namespaces with
// peering objects.
var errNoNamespace = errors.New(`setting "peering.clusterwide": an operator of the whole cluster ` +
	"cannot use peering objects of namespaces; serve namespaces, or set peering.standalone")

// serveDimension serves one dimension until the context ends.
func (op *Operator) serveDimension(ctx context.Context, d *dimensions.Dimension, ended func()) {
	if d.Peering {
		op.peers(ctx, d)
		ended()
	} else {
		op.common().Serve(ctx, d, ended)
	}
}

// prepareDimension makes all handlers wait for a stream whose objects are indexed. It makes the
// operator wait for a mandatory peering object.
func (op *Operator) prepareDimension(d dimensions.Dimension) {
	if d.Peering {
		op.pauses.Set(pauses.Reason{Peering: d.Key()}, op.Settings.Peering.Mandatory)
		return
	}
	op.completion.Expect(d.Key())
	op.generations.Present().Await(d)
}

// alike reports whether a resource as it was and as it is has the same handlers, and the same selectors of objects in the settings.
func (op *Operator) alike(was, is selectors.Resource) bool {
	e := op.generations.Hold() // functions of its guests may select resources
	defer e.Release()
	return e.Registry.Alike(was, is) && watching.Filtered(op.Settings, was)() == watching.Filtered(op.Settings, is)()
}

// common returns what the streams of objects have in common. It is not inlined, as its frame
// would stay on the stack of each stream.
//
//go:noinline
func (op *Operator) common() *streams.Common {
	return &streams.Common{
		Generations: &op.generations,
		Settings:    op.Settings,
		Client:      op.client,
		Account:     op.account,
		Memories:    op.memories,
		Runnables:   op.runnables,
		Completion:  op.completion,
		Pauses:      op.pauses,
		Streams:     &op.streams,
		States:      &op.states,
		Watches:     op.watches(),
		Many:        op.Many,
		Loops:       op.loops,
		Waits:       &op.meters.Waits,
		Leader:      op.replica.leader(),
		Holdings:    op.replica.holdings(),
		Claims:      op.Claims,
		By:          claims.Claimant{Owner: op, Operator: op.Name, Cluster: op.cluster, Precedence: op.Precedence, Refuse: op.unable.happen},
		Ending:      op.ending,
		Log:         op.Log,
		RefKey:      op.RefKey,
	}
}

// peers takes part in a peering object until the context ends. It is not inlined, either.
//
//go:noinline
func (op *Operator) peers(ctx context.Context, d *dimensions.Dimension) {
	log := op.Log.With().Str(loggers.Field, "kopf.peering").Logger()
	o := peering.Options{Client: op.client, Settings: op.Settings, Dimension: *d, Identity: op.identity(), Pauses: op.pauses, States: &op.states, Log: log}
	if share := op.watches(); share != nil {
		o.Source = share(*d)
	}
	p, err := peering.New(o)
	if err != nil {
		log.Error().Err(err).Msg("a peering resource cannot be used")
		return
	}
	if op.replica.await(ctx) == nil { // only the leader meets the other operators
		p.Run(ctx)
	}
}

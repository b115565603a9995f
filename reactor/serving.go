package reactor

import (
	"context"
	"errors"
)

// errNoNamespace is for operators that serve the cluster: they have no namespaces
// with peering objects.
var errNoNamespace = errors.New(`setting "peering.clusterwide": peering objects of namespaces are of no use ` +
	"for the whole cluster; serve namespaces, or set peering.standalone")

// start serves one dimension until the context ends.
func (op *Operator) start(ctx context.Context, d dimension) {
	if d.peering {
		op.peers(ctx, d)
	} else {
		op.host().serve(ctx, d)
	}
}

// prepare makes all handlers wait for a stream whose objects are indexed, and the
// operator for a peering object that is mandatory.
func (op *Operator) prepare(d dimension) {
	if d.peering {
		op.pauses.set(pauseReason(d.key()), op.Settings.Peering.Mandatory)
		return
	}
	op.completion.expect(d.key())
	op.present().await(d)
}

// host is what the streams of objects need of the operator.
func (op *Operator) host() *streamHost {
	return &streamHost{
		generations: &op.generations, settings: op.Settings, client: op.client, account: op.account, memories: op.memories,
		runnables: op.runnables, completion: op.completion, pauses: op.pauses, served: &op.served, states: &op.streams,
		claims: op.Claims, by: claimant{owner: op, operator: op.Name, cluster: op.cluster}, log: op.Log, refKey: op.RefKey, refuse: op.refuse,
	}
}

// peers keeps the operator known to its peers until the context ends.
func (op *Operator) peers(ctx context.Context, d dimension) {
	log := op.Log.With().Str(LoggerField, "kopf.peering").Logger()
	m, err := newMembership(op.client, op.Settings, d, op.identity(), op.pauses, &op.streams, log)
	if err != nil {
		log.Error().Err(err).Msg("a peering resource cannot be used")
		return
	}
	m.run(ctx)
}

package reactor

import (
	"context"
	"errors"

	"github.com/kopf-wasm/kopf/reactor/watching"
)

// errNoNamespace is for operators that serve the cluster: they have no namespaces
// with peering objects.
var errNoNamespace = errors.New(`setting "peering.clusterwide": peering objects of namespaces are of no use ` +
	"for the whole cluster; serve namespaces, or set peering.standalone")

// member serves one peering object until the context ends.
func (op *Operator) member(ctx context.Context, d dimension) {
	log := op.Log.With().Str(LoggerField, "kopf.peering").Logger()
	path, err := d.resource.URL(d.namespace, "", "")
	if err != nil {
		log.Error().Err(err).Msg("a peering resource cannot be used")
		return
	}
	m := &membership{
		notice:   notice{op.client, d.resource, d.namespace, op.Settings.Peering.Name},
		identity: op.identity(), settings: &op.Settings.Peering,
		stream: &watching.Stream{
			Client: op.client, Path: path, APIVersion: d.resource.APIVersion(), Kind: d.resource.Kind, Options: func() watching.Options { return watchOptions(op.Settings) },
			Log: func(level int, message string) { log.WithLevel(levelOf(level)).Msg(message) },
		},
		streams: &op.streams,
		pauses:  op.pauses, reason: pauseReason(d.key()), log: log,
		sharded: !op.Settings.Watching.ShardSelectors.Empty(), objects: make(chan peeringState, 1),
	}
	m.run(ctx)
}

// start serves one dimension until the context ends.
func (op *Operator) start(ctx context.Context, d dimension) {
	if d.peering {
		op.member(ctx, d)
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
		claims: op.Claims, by: claimant{op, op.Name, op.cluster}, log: op.Log, refKey: op.RefKey, refuse: op.refuse,
	}
}

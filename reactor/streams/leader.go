package streams

import (
	"context"

	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/signals"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// Leader is what streams need of the election of the leader among replicas, or of the membership of replicas that share the objects.
type Leader struct {
	Guard patching.Guard
	Led   *signals.Signal // this replica is the leader; nil: the replicas share the objects
}

// entrance admits handlers of the leader only.
type entrance struct {
	handling.Entrance
	guard patching.Guard
}

// Enter implements handling.Entrance.
func (e entrance) Enter(ctx context.Context, h *registries.Handler, waits func()) (leave func(), err error) {
	if err := e.Continue(); err != nil {
		return nil, err
	}
	return e.Entrance.Enter(ctx, h, waits)
}

// Continue implements handling.Entrance.
func (e entrance) Continue() error {
	if _, err := e.guard.Hold(); err != nil {
		return handling.ErrExiting
	}
	return nil
}

// entrance returns the entrance of handlers that change objects.
func (c *Common) entrance() handling.Entrance {
	if c.Leader == nil {
		return c.Runnables
	}
	return entrance{c.Runnables, c.Leader.Guard}
}

// guard returns the guard of patches.
func (c *Common) guard() patching.Guard {
	if c.Leader == nil {
		return nil
	}
	return c.Leader.Guard
}

// standBy keeps the indices of this replica complete until it is the leader. A leader lists all objects again: what this
// replica has seen before may be older than the patches of its predecessor. It calls led then, or when the context has ended, maybe
// after it has returned. The sink is that of the leader, too: the gate waits for one listing only.
func (s *Stream) standBy(ctx context.Context, sink *queueSink, led func()) {
	leader := s.common.Leader
	if leader == nil || leader.Led == nil || len(s.Processor.Load().Handlers.Indexing) == 0 {
		led()
		return
	}
	ctx, end := context.WithCancel(ctx)
	leader.Led.Then(ctx, end)
	s.watch.Start(ctx, &standbySink{sink}, led) // a run ends with its context only
}

// standsBy reports whether another replica is the leader.
func (c *Common) standsBy() bool {
	return c.Leader != nil && c.Leader.Led != nil && !c.Leader.Led.IsGiven()
}

// standbySink is a queueSink of a replica that is not the leader.
type standbySink struct{ *queueSink }

// Event queues an object.
func (s *standbySink) Event(event watching.Event) {
	s.put(queueing.Item{Event: event, Standby: true})
}

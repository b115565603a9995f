package reactor

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// StreamState is what is known of one stream of an operator.
type StreamState struct {
	watching.Health
	Resource  string // as plural.version.group
	Namespace string // empty: the whole cluster
	Paused    bool   // by other operators: it need not do anything
	Dead      bool   // it has ended though it should not have
}

// Broken tells that the stream will not deliver anything any more.
func (s StreamState) Broken(now time.Time) bool { return s.Dead || !s.Paused && s.Stalled(now) }

// Delivering tells whether changes of objects arrive, as far as they are to.
func (s StreamState) Delivering(now time.Time) bool {
	return !s.Dead && (s.Paused || s.Delivers(now))
}

// streamSet are the streams that an operator has, so that nobody has to believe in them.
type streamSet struct {
	mu    sync.Mutex // guards items
	items map[*supervised]bool
}

// supervised is a stream that somebody looks after.
type supervised struct {
	stream    *watching.Stream
	resource  selectors.Resource
	namespace string
	pauses    *pauses       // nil: it does not pause
	served    *servedStream // nil: not of objects that are handled
	dead      bool
}

// supervise looks after a stream while it runs. If it ends before its context does,
// whatever the reason, it is known as dead from then on.
func (s *streamSet) supervise(ctx context.Context, item *supervised, run func()) {
	s.mu.Lock()
	if s.items == nil {
		s.items = map[*supervised]bool{}
	}
	s.items[item] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if item.dead = ctx.Err() == nil; !item.dead {
			delete(s.items, item)
		}
	}()
	run()
}

// each calls a function for all streams of objects, none of which ends meanwhile.
func (s *streamSet) each(do func(*servedStream)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for item := range s.items {
		if item.served != nil && !item.dead {
			do(item.served)
		}
	}
}

// Streams are the present states of all streams of the operator, by their names.
func (op *Operator) Streams() []StreamState {
	op.streams.mu.Lock()
	defer op.streams.mu.Unlock()
	states := make([]StreamState, 0, len(op.streams.items))
	for item := range op.streams.items {
		states = append(states, StreamState{
			Health: item.stream.Health(), Resource: item.resource.String(), Namespace: item.namespace,
			Paused: item.pauses != nil && item.pauses.isOn(), Dead: item.dead,
		})
	}
	slices.SortFunc(states, func(a, b StreamState) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Namespace, b.Namespace))
	})
	return states
}

// Handled is how many events of objects the operator has begun to handle so far.
func (op *Operator) Handled() uint64 { return op.handled.Load() }

// Counts are numbers of what an operator has at the moment.
type Counts struct {
	Objects       int // that are remembered, with their memos
	Daemons       int // that run, and timers
	Indexed       int // pairs of objects and keys in all indices
	EventsDropped int // that were to be posted

	RequestsDelayed uint64 // that had to wait for Options.Limits
	Paused          bool   // by other operators
	Ready           bool   // it serves, or pauses, and does not exit yet
}

// Counts counts what there is now.
func (op *Operator) Counts() Counts {
	counts := Counts{Objects: op.memories.count(), Daemons: op.runnables.count(), Indexed: op.present().services.indices.Len(), Paused: op.pauses.isOn(), Ready: op.serving.Load()}
	if counts.Ready {
		counts.EventsDropped = op.events.dropped()
		counts.RequestsDelayed = op.client.Delayed()
	}
	return counts
}

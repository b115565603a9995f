package reactor

import (
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// Streams are the present states of all streams of the operator, by their names.
func (op *Operator) Streams() []watching.State { return op.streams.States() }

// Handled is how many events of objects the operator has begun to handle so far.
func (op *Operator) Handled() uint64 { return op.served.Handled.Load() }

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
	counts := Counts{Objects: op.memories.Count(), Daemons: op.runnables.Count(), Indexed: op.generations.Present().Services.Indices.Len(), Paused: op.pauses.IsOn(), Ready: op.serving.Load()}
	if counts.Ready {
		counts.EventsDropped = op.events.Dropped()
		counts.RequestsDelayed = op.client.Delayed()
	}
	return counts
}

package reactor

import (
	"time"

	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/loops"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// Streams returns the current states of all streams of the operator, sorted by name.
func (op *Operator) Streams() []watching.State { return op.states.States() }

// Unserved says which resources cannot be served, and why: they do not exist, or are ambiguous.
func (op *Operator) Unserved() []string { return op.states.Lacking() }

// Unpatched returns the answers of the API server about resources whose objects the operator may not patch.
func (op *Operator) Unpatched() []string {
	if !op.serving.Load() {
		return nil
	}
	return op.client.Unpatched()
}

// ObjectState is what an operator does for one object now.
type ObjectState struct {
	Known   bool           // the object is remembered
	Queue   queueing.State // of its stream
	Daemons []string       // ids of its running daemons and timers
}

// Object returns what the operator does for an object with a uid. The cost does not depend on the
// number of objects.
func (op *Operator) Object(uid string) ObjectState {
	var state ObjectState
	state.Daemons, state.Known = op.memories.Daemons(uid)
	for _, s := range op.streams.Now() {
		if found := s.State(uid); found != (queueing.State{}) {
			state.Queue, state.Known = found, true
		}
	}
	return state
}

// Loops returns the objects with which the operator triggers itself more often than
// Options.LoopRate allows.
func (op *Operator) Loops() []loops.Loop { return op.loops.Loops(time.Now()) }

// Finalizer returns the finalizer that the operator adds to objects. It is valid after
// Options.Ready was called, because startup handlers can set it.
func (op *Operator) Finalizer() string { return op.Settings.Persistence.Finalizer }

// Counts are the current numbers of an operator.
type Counts struct {
	Objects       int // objects that are remembered, with their memos
	Daemons       int // running daemons and timers
	Indexed       int // pairs of objects and keys in all indices
	Queued        int // events that wait for a worker
	Working       int // objects whose events are handled, including those that wait for the next attempt of a handler
	EventsDropped int // events that were dropped before they were posted

	Calls handling.Counts // of handlers

	RequestsDelayed uint64 // requests that had to wait for Options.Limits
	EventsDelayed   uint64 // the same for events
	CallsDelayed    uint64 // requests of guests that had to wait for Options.Calls.Rate, since the last replacement
	EgressDelayed   uint64 // the same for Options.Calls.Egress, and those that it has refused
	Paused          bool   // paused by other operators, or while another replica is the leader
	Shared, Leads   bool   // it has replicas, and is their leader
	Share           *Share // of the objects that the replicas share; nil: they do not share them
	Ready           bool   // it serves or pauses, and does not exit yet
}

// Counts returns the current numbers.
func (op *Operator) Counts() Counts {
	counts := Counts{Objects: op.memories.Count(), Daemons: op.runnables.Count(), Indexed: op.generations.Present().Services.Indices.Len(), Paused: op.pauses.IsOn(), Ready: op.serving.Load()}
	counts.Calls = op.tally.Counts()
	_, counts.Leads, counts.Shared = op.Leader()
	counts.Share = op.share()
	for _, s := range op.streams.Now() {
		queued, working := s.Load()
		counts.Queued, counts.Working = counts.Queued+queued, counts.Working+working
	}
	if counts.Ready {
		counts.EventsDropped = op.events.Dropped()
		counts.RequestsDelayed, counts.EventsDelayed = op.client.Delayed(), op.client.EventsDelayed()
		caller := op.generations.Present().Services.Caller
		counts.CallsDelayed, counts.EgressDelayed = caller.Delayed(), caller.EgressDelayed()
	}
	return counts
}

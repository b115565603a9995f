package streams

import (
	"context"
	"sync"

	"github.com/kopf-wasm/kopf/reactor/completion"
	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// queueSink feeds the queues of objects from a stream.
type queueSink struct {
	ctx        context.Context // of the workers: it outlives the stream
	queues     *queueing.Queues
	gate       *indexing.Gate // waits for the initial listing; nil if no gate waits
	completion *completion.Completion
	key        dimensions.Key // of the stream
}

// Event queues an event. The gate waits for each object of the initial listing.
func (s *queueSink) Event(event watching.Event) {
	if event.Type == watching.Listed {
		s.completion.Add(event.Meta.Key())
	}
	s.put(queueing.Item{Event: event})
}

func (s *queueSink) put(it queueing.Item) {
	if s.gate != nil && it.Type == watching.Listed && s.gate.Add() {
		it.Indexed = sync.OnceFunc(s.gate.Done)
	}
	s.queues.Put(s.ctx, it)
}

// Listed ends the gate's wait for the listing itself.
func (s *queueSink) Listed() {
	s.completion.Listed(s.key)
	s.over()
}

// over ends the gate's wait.
func (s *queueSink) over() {
	if s.gate != nil {
		s.gate.Done()
		s.gate = nil
	}
}

// againSink is a queueSink for objects that have not changed.
type againSink struct {
	*queueSink
	common *Common
}

// Event queues an object.
func (s *againSink) Event(event watching.Event) {
	s.put(queueing.Item{Event: event, Again: true, Standby: s.common.standsBy()})
}

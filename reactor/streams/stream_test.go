package streams

import (
	"testing"

	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// Dropped items do not keep a gate closed.
func TestDroppedItemsOpenTheGate(t *testing.T) {
	g := indexing.NewGate()
	g.Add()
	qs := queueing.New(0)
	qs.Drain(func() {}, 0)
	sink := &againSink{queueSink: &queueSink{ctx: t.Context(), queues: qs, gate: g}, common: &Common{}}
	sink.Event(watching.Event{Type: watching.Listed, Meta: watching.Meta{UID: "a"}})
	sink.Listed()
	if !g.IsOpen() {
		t.Error("the gate is closed for ever")
	}
}

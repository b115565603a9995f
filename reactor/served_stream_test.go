package reactor

import (
	"testing"

	"github.com/kopf-wasm/kopf/reactor/watching"
)

// Items that nobody handles any more keep no gate closed.
func TestDroppedItemsOpenTheGate(t *testing.T) {
	g := newGate()
	g.add()
	qs := newQueues(0)
	qs.closed = true
	sink := &againSink{queueSink: &queueSink{ctx: t.Context(), queues: qs, gate: g}}
	sink.Event(watching.Event{Type: watching.Listed, Meta: watching.Meta{UID: "a"}})
	sink.Listed()
	if !g.isOpen() {
		t.Error("the gate is closed for ever")
	}
}

package processing

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// TestThrottledObjectsAreIndexed: after a reload, all handlers wait until each object is indexed. One that is throttled does not keep
// them for the time of its throttling.
func TestThrottledObjectsAreIndexed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resource := abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
		guest := &reactortest.Scripted{Scripts: map[string][]string{"index": {`{"step":"done","result":1}`}}}
		registry, err := registries.New(declared{guest, []abi.Handler{{Kind: abi.KindIndex, ID: "index", Resource: &resource}}})
		if err != nil {
			t.Fatal(err)
		}
		p := newProcessor(registry, &reactortest.MemoryServer{Object: reactortest.NewObject(1)})
		m := p.Memories.recall("uid-1", false)
		trouble := m.troubled()
		trouble.throttler.until = time.Now().Add(time.Hour)
		m.settle(trouble)
		indexed := false
		event := watching.Event{Type: watching.Listed, Object: reactortest.NewObject(1), Meta: watching.Meta{UID: "uid-1"}}
		done := make(chan struct{})
		go func() {
			defer close(done)
			p.handleOne(t.Context(), queueing.Item{Event: event, Again: true, Indexed: func() { indexed = true }}, queueing.Alone())
		}()
		synctest.Wait()
		if pairs := p.Generation.Services.Indices.Len(); !indexed || pairs != 1 {
			t.Errorf("handlers wait for it: %t; %d objects are indexed", !indexed, pairs)
		}
		<-done
	})
}

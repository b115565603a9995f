package processing

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// TestDaemonsEndWithTheirObject: daemons of an object that is gone also end if the deletion cannot be handled. Users of the
// cluster can cause that, and no later event stops the daemons.
func TestDaemonsEndWithTheirObject(t *testing.T) {
	for name, last := range map[string]string{
		"an invalid state": `{"metadata":{"name":"n","namespace":"default","uid":"uid","annotations":{"kopf.zalando.org/last-handled-configuration":"?"}}}`,
		"no object":        `{"metadata":`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				resource := abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
				guest := &reactortest.Scripted{Scripts: map[string][]string{"fn": {`{"step":"wait","stoppable":true}`}}}
				registry, err := registries.New(declared{guest, []abi.Handler{{Kind: abi.KindDaemon, ID: "fn", Resource: &resource}, {Kind: abi.KindUpdate, ID: "update", Resource: &resource}}})
				if err != nil {
					t.Fatal(err)
				}
				p := newProcessor(registry, &reactortest.MemoryServer{Object: reactortest.NewObject(0)})
				p.Settings.Queueing.ErrorDelays = backoffs.Backoffs{}
				for _, event := range []watching.Event{{Type: watching.Added, Object: reactortest.NewObject(0)}, {Type: watching.Deleted, Object: []byte(last)}} {
					event.Meta.UID = "uid"
					p.handleOne(t.Context(), queueing.Item{Event: event}, queueing.Alone())
					if event.Type == watching.Added && p.Runnables.Count() != 1 {
						t.Fatalf("%d daemons run", p.Runnables.Count())
					}
				}
				time.Sleep(time.Minute)
				if n := p.Runnables.Count(); n != 0 || p.Memories.Count() != 0 {
					t.Errorf("%d daemons still run; %d objects are remembered", n, p.Memories.Count())
				}
				p.Runnables.End()
			})
		})
	}
}

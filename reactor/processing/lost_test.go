package processing

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// TestLostObjectsDoNotWaitForIndices: the indices are never complete, because the account may not list a resource, for example. Another
// replica gets an object that waits for them. All objects of all operators would wait for this one.
func TestLostObjectsDoNotWaitForIndices(t *testing.T) {
	for name, before := range map[string]bool{"it is lost while it waits": false, "it is lost before it waits": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				resource := abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
				registry, err := registries.New(reactortest.Instant{Handlers: []abi.Handler{{Kind: abi.KindCreate, ID: "fn", Resource: &resource}}})
				if err != nil {
					t.Fatal(err)
				}
				p := newProcessor(registry, &reactortest.MemoryServer{Object: reactortest.NewObject(1)})
				p.Generation.Indexed = indexing.NewGate()
				p.Generation.Indexed.Add()
				var log reactortest.Output
				p.Log = zerolog.New(&log)
				let, lost := make(chan struct{}), false
				qs := queueing.Of(p.Settings)
				qs.Process = func(ctx context.Context, it queueing.Item, q *queueing.Queue) string {
					if it.Lost {
						lost = true
						return ""
					}
					<-let
					return p.handle(ctx, it, q)
				}
				ctx, cancel := context.WithCancel(t.Context())
				qs.Put(ctx, queueing.Item{Event: watching.Event{Type: watching.Added, Object: reactortest.NewObject(1), Meta: watching.Meta{UID: "uid-1"}}})
				if !before {
					close(let)
				}
				synctest.Wait()
				qs.Put(ctx, queueing.Item{Event: watching.Event{Meta: watching.Meta{UID: "uid-1"}}, Lost: true})
				if before {
					close(let)
				}
				synctest.Wait()
				if !lost || strings.Contains(log.String(), "Throttling") {
					t.Errorf("the work on it ends: %t\n%s", lost, &log)
				}
				qs.Drain(cancel, 0)
			})
		})
	}
}

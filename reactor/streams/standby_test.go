package streams

import (
	"context"
	"testing"
	"testing/synctest"

	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/generations"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/pauses"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/signals"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// TestReplicasThatStandByFillNewIndices: the module is replaced in a replica that stands by. Its admission handlers look into the new
// indices at once. Handlers of raw events are not called there.
func TestReplicasThatStandByFillNewIndices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resource := abi.Selector{Group: "kopf.dev", Plural: "kopfexamples"}
		guest := &noting{Instant: reactortest.Instant{Handlers: []abi.Handler{{Kind: abi.KindEvent, ID: "raw", Resource: &resource}, {Kind: abi.KindIndex, ID: "index", Resource: &resource}}}}
		registry, err := registries.New(guest)
		if err != nil {
			t.Fatal(err)
		}
		generation := func(number uint32) *generations.Generation {
			e, err := generations.New(number, registry, handling.Services{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		host, before, after := newPart(t).host, generation(0), generation(1)
		host.Generations.Replace(before)
		host.Holdings, host.Leader = nil, &Leader{Led: signals.New()}
		host.Pauses, host.Served, host.States = pauses.New(), &Set{}, &watching.Set{}
		host.Pauses.Set(pauses.Reason{Standby: true}, true)
		vault := credentials.Of(credentials.Info{Config: &rest.Config{Host: "http://server", Transport: one{}}})
		host.Client = clients.New(vault, func() clients.Options { return clients.Options{} }, func(string) {})
		d := dimensions.Dimension{Resource: selectors.Resource{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Namespaced: true, Preferred: true}, Namespace: "default"}
		before.Await(d)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go host.Serve(ctx, &d, func() { close(ended) })
		synctest.Wait()
		host.Generations.Replace(after)
		host.Served.Each(func(s *Stream) {
			after.Await(d)
			s.Again(ctx, after.GateOf(d))
		})
		synctest.Wait()
		for name, e := range map[string]*generations.Generation{"the first": before, "the next": after} {
			if pairs := e.Services.Indices.Len(); pairs != 1 || !e.Indexed.IsOpen() {
				t.Errorf("%s module has %d indexed objects; all are indexed: %t", name, pairs, e.Indexed.IsOpen())
			}
		}
		if len(guest.types) > 0 {
			t.Errorf("raw events are handled: %v", guest.types)
		}
		cancel()
		<-ended
	})
}

package streams

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/generations"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/pauses"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// one is a cluster with one object, whose watches say nothing.
type one struct{ empty }

func (c one) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Has("watch") {
		return c.empty.RoundTrip(r)
	}
	return reactortest.Replying(func(*http.Request) (int, string) {
		return http.StatusOK, `{"metadata":{"resourceVersion":"1"},"items":[` + string(reactortest.NewObject(1)) + `]}`
	}).RoundTrip(r)
}

// noting is a guest that notes the types of raw events.
type noting struct {
	reactortest.Instant
	mu    sync.Mutex // guards types
	types []string
}

func (g *noting) Start(_ context.Context, inv *abi.Invocation, _ []byte, _ guests.Env) (guests.Task, *abi.Step, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if inv.Kind == abi.KindEvent {
		kind := "listed"
		if inv.EventType != nil {
			kind = *inv.EventType
		}
		g.types = append(g.types, kind)
	}
	return &reactortest.ScriptedTask{Guest: &reactortest.Scripted{}}, &abi.Step{Step: abi.StepDone, Outcome: abi.Outcome{Result: abi.Raw(`1`)}}, nil
}

// TestNamespacesThatAreNotServedAnyMore: the objects of a namespace that exists are not deleted, though the operator forgets them.
func TestNamespacesThatAreNotServedAnyMore(t *testing.T) {
	for name, gone := range map[string]bool{"deleted": true, "not selected": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				resource := abi.Selector{Group: "kopf.dev", Plural: "kopfexamples"}
				guest := &noting{Instant: reactortest.Instant{Handlers: []abi.Handler{{Kind: abi.KindEvent, ID: "raw", Resource: &resource}, {Kind: abi.KindIndex, ID: "index", Resource: &resource}}}}
				registry, err := registries.New(guest)
				if err != nil {
					t.Fatal(err)
				}
				e, err := generations.New(0, registry, handling.Services{}, nil)
				if err != nil {
					t.Fatal(err)
				}
				host := newPart(t).host
				host.Generations.Replace(e)
				host.Holdings, host.Pauses, host.States = nil, pauses.New(), &watching.Set{}
				host.Served = &Set{Gone: func(dimensions.Dimension) bool { return gone }, Left: func(dimensions.Dimension) bool { return !gone }}
				vault := credentials.Of(credentials.Info{Config: &rest.Config{Host: "http://server", Transport: one{}}})
				host.Client = clients.New(vault, func() clients.Options { return clients.Options{} }, func(string) {})
				d := dimensions.Dimension{Resource: selectors.Resource{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Namespaced: true, Preferred: true}, Namespace: "default"}
				e.Await(d)
				ctx, leave := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go host.Serve(ctx, &d, func() { close(ended) })
				synctest.Wait()
				if pairs := e.Services.Indices.Len(); pairs != 1 {
					t.Errorf("%d objects are indexed at first", pairs)
				}
				leave()
				<-ended
				want := []string{"listed"}
				if gone {
					want = append(want, watching.Deleted)
				}
				if len(host.Served.left) > 0 {
					t.Error("the identities of the objects are kept")
				}
				if !slices.Equal(guest.types, want) || host.Memories.Count() != 0 || e.Services.Indices.Len() != 0 {
					t.Errorf("the events are %v; %d objects are remembered, and %d indexed", guest.types, host.Memories.Count(), e.Services.Indices.Len())
				}
			})
		})
	}
}

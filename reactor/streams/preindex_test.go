package streams

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/generations"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/pauses"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// few is a cluster with three objects, whose watches say nothing.
type few struct{ empty }

func (c few) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Has("watch") {
		return c.empty.RoundTrip(r)
	}
	return reactortest.Replying(func(r *http.Request) (int, string) {
		var all []string
		for n := 1; n <= 3; n++ {
			object := string(reactortest.NewObject(n))
			if strings.HasSuffix(r.URL.Path, fmt.Sprintf("/example-%d", n)) {
				return http.StatusOK, object
			}
			all = append(all, object)
		}
		return http.StatusOK, `{"metadata":{"resourceVersion":"3"},"items":[` + strings.Join(all, ",") + `]}`
	}).RoundTrip(r)
}

// TestMoreObjectsThanRoomAreIndexed: the bodies of objects that are indexed wait for the others, and take the room for these.
func TestMoreObjectsThanRoomAreIndexed(t *testing.T) {
	for name, limit := range map[string]string{"any number of workers": "null", "one worker": "1"} {
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
				host.Settings = reactortest.SettingsWith(t, map[string]string{"queueing.worker_limit": limit})
				host.Account = accounts.New(accounts.Limits{PendingMemory: len(reactortest.NewObject(1)) + 1000}) // for one of them
				host.Holdings, host.Pauses, host.Served, host.States = nil, pauses.New(), &Set{}, &watching.Set{}
				vault := credentials.Of(credentials.Info{Config: &rest.Config{Host: "http://server", Transport: few{}}})
				host.Client = clients.New(vault, func() clients.Options { return clients.Options{} }, func(string) {})
				d := dimensions.Dimension{Resource: selectors.Resource{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Namespaced: true, Preferred: true}, Namespace: "default"}
				e.Await(d)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go host.Serve(ctx, &d, func() { close(ended) })
				time.Sleep(time.Minute)
				if pairs := e.Services.Indices.Len(); pairs != 3 || !e.Indexed.IsOpen() {
					t.Errorf("%d objects are indexed; all are: %t", pairs, e.Indexed.IsOpen())
				}
				if want := slices.Repeat([]string{"listed"}, 3); !slices.Equal(guest.types, want) {
					t.Errorf("the events are %v", guest.types)
				}
				cancel()
				<-ended
			})
		})
	}
}

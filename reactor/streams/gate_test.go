package streams

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/pauses"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// silent is a cluster that sends nothing.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	body, end := io.Pipe()
	context.AfterFunc(r.Context(), func() { _ = end.Close() })
	return reactortest.Answer(http.StatusOK, body), nil
}

// TestHandlersDoNotWaitForListingsThatWereCutOff: a namespace goes away, or the definition of a resource changes, while its objects are
// listed for an index. All handlers would wait for ever. They do if the operator ends: they would find too little in the indices.
func TestHandlersDoNotWaitForListingsThatWereCutOff(t *testing.T) {
	for name, ends := range map[string]bool{"the namespace is gone": false, "the operator ends": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host, ending := newPart(t, abi.KindIndex).host, make(chan struct{})
				host.Holdings, host.Pauses, host.Served, host.States, host.Ending = nil, pauses.New(), &Set{}, &watching.Set{}, ending
				vault := credentials.Of(credentials.Info{Config: &rest.Config{Host: "http://server", Transport: silent{}}})
				host.Client = clients.New(vault, func() clients.Options { return clients.Options{} }, func(string) {})
				e := host.Generations.Present()
				d := dimensions.Dimension{Resource: selectors.Resource{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Namespaced: true, Preferred: true}, Namespace: "a"}
				other := d
				other.Namespace = "b"
				e.Await(d)
				e.Await(other)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go host.Serve(ctx, &d, func() { close(ended) })
				synctest.Wait()
				e.GateOf(other).Done()
				if e.Indexed.IsOpen() {
					t.Error("the indices count as complete before all objects are listed")
				}
				if ends {
					close(ending)
				}
				cancel()
				<-ended
				if e.Indexed.IsOpen() == ends {
					t.Errorf("handlers wait: %t", !e.Indexed.IsOpen())
				}
			})
		})
	}
}

// TestHandlersDoNotWaitForReloadsThatWereCutOff: the same for the listings after a reload.
func TestHandlersDoNotWaitForReloadsThatWereCutOff(t *testing.T) {
	for name, ends := range map[string]bool{"the namespace is gone": false, "the operator ends": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, ending := newPart(t, abi.KindIndex), make(chan struct{})
				reading, cancel := context.WithCancel(t.Context())
				p.reading, p.host.Pauses, p.host.Ending, p.stream = reading, pauses.New(), ending, &watching.Stream{}
				p.host.Pauses.Set(pauses.Reason{}, true)
				e := p.host.Generations.Present()
				e.Await(p.Dimension)
				p.Again(t.Context(), e.GateOf(p.Dimension))
				if ends {
					close(ending)
				}
				cancel()
				synctest.Wait()
				if e.Indexed.IsOpen() == ends {
					t.Errorf("handlers wait: %t", !e.Indexed.IsOpen())
				}
			})
		})
	}
}

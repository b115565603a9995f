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
	"github.com/kopf-wasm/kopf/reactor/signals"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// empty is a cluster without objects, whose watches say nothing.
type empty struct{}

func (empty) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Has("watch") {
		body, end := io.Pipe()
		context.AfterFunc(r.Context(), func() { _ = end.Close() })
		return reactortest.Answer(http.StatusOK, body), nil
	}
	return reactortest.Replying(func(*http.Request) (int, string) {
		return http.StatusOK, `{"metadata":{"resourceVersion":"1"},"items":[]}`
	}).RoundTrip(r)
}

// TestLeadersWaitForAllIndices: a stream lists its objects twice in a replica that becomes the leader. The second time, the indices
// still wait for the other streams.
func TestLeadersWaitForAllIndices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newPart(t, abi.KindIndex).host
		host.Holdings, host.Leader = nil, &Leader{Led: signals.New()}
		host.Pauses, host.Served, host.States = pauses.New(), &Set{}, &watching.Set{}
		vault := credentials.Of(credentials.Info{Config: &rest.Config{Host: "http://server", Transport: empty{}}})
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
		host.Leader.Led.Give()
		synctest.Wait()
		if e.Indexed.IsOpen() {
			t.Error("the indices count as complete before all objects are listed")
		}
		e.GateOf(other).Done()
		if !e.Indexed.IsOpen() {
			t.Error("the indices are never complete")
		}
		cancel()
		<-ended
	})
}

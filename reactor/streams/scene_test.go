package streams

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

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
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// silent is a cluster that sends nothing.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	body, end := io.Pipe()
	context.AfterFunc(r.Context(), func() { _ = end.Close() })
	return reactortest.Answer(http.StatusOK, body), nil
}

// stocked is a cluster with so many objects, whose watches say nothing.
type stocked int

func (c stocked) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Has("watch") {
		return silent{}.RoundTrip(r)
	}
	return reactortest.Replying(func(r *http.Request) (int, string) {
		var all []string
		for n := 1; n <= int(c); n++ {
			object := string(reactortest.NewObject(n))
			if strings.HasSuffix(r.URL.Path, fmt.Sprintf("/example-%d", n)) {
				return http.StatusOK, object
			}
			all = append(all, object)
		}
		return http.StatusOK, fmt.Sprintf(`{"metadata":{"resourceVersion":"%d"},"items":[%s]}`, max(1, int(c)), strings.Join(all, ","))
	}).RoundTrip(r)
}

// noting is a guest with a handler of raw events, whose types it notes, and an index.
type noting struct {
	reactortest.Instant
	mu    sync.Mutex // guards types
	types []string
}

func newNoting() *noting {
	resource := abi.Selector{Group: new("kopf.dev"), Plural: "kopfexamples"}
	return &noting{Instant: reactortest.Instant{Handlers: []abi.Handler{{Kind: abi.KindEvent, ID: "raw", Resource: &resource}, {Kind: abi.KindIndex, ID: "index", Resource: &resource}}}}
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

// scene is what the streams of an operator have in common, with a cluster that they read.
type scene struct {
	*Common
	dimension dimensions.Dimension // of the examples in the namespace default
}

// newScene makes a scene with the handlers of a guest.
func newScene(t *testing.T, cluster http.RoundTripper, guest guests.Guest) *scene {
	t.Helper()
	p := newPart(t)
	s := &scene{p.common, p.Dimension}
	s.dimension.Namespace = "default"
	s.Holdings, s.Pauses, s.Streams, s.States = nil, pauses.New(), &Set{}, &watching.Set{}
	vault := credentials.Of(credentials.Info{Config: &rest.Config{Host: "http://server", Transport: cluster}})
	s.Client = clients.New(vault, func() clients.Options { return clients.Options{} }, func(string) {})
	s.Generations.Replace(generationOf(t, guest, 0))
	return s
}

func generationOf(t *testing.T, guest guests.Guest, number uint32) *generations.Generation {
	t.Helper()
	registry, err := registries.New(guest)
	if err != nil {
		t.Fatal(err)
	}
	e, err := generations.New(number, registry, handling.Services{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// serve starts the stream, for which the indices wait. The returned function ends it.
func (s *scene) serve(t *testing.T) (end func()) {
	t.Helper()
	s.Generations.Present().Await(s.dimension)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go s.Serve(ctx, &s.dimension, func() { close(ended) }) // Waited for by end.
	return func() {
		cancel()
		<-ended
	}
}

// awaitOther lets the indices wait for another stream, too. The returned function ends that.
func (s *scene) awaitOther() (done func()) {
	other := s.dimension
	other.Namespace = "other"
	e := s.Generations.Present()
	e.Await(other)
	return e.GateOf(other).Done
}

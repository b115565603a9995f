package operator

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/operator/apiserver"
	"github.com/kopf-wasm/kopf/operator/guesttest"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/tracing"
)

// spans keeps spans.
type spans struct {
	mu  sync.Mutex // guards all
	all []*tracing.Record
}

// Record implements tracing.Tracer.
func (s *spans) Record(r *tracing.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, r)
}

// named returns the spans with a name.
func (s *spans) named(name string) []*tracing.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.all), func(r *tracing.Record) bool { return r.Name != name })
}

// within returns a span with a name that is a part of one of the others.
func (s *spans) within(t *testing.T, name string, parents []*tracing.Record) []*tracing.Record {
	t.Helper()
	var found []*tracing.Record
	for _, r := range s.named(name) {
		if slices.ContainsFunc(parents, func(p *tracing.Record) bool { return r.Trace == p.Trace && r.Parent == p.ID }) {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		t.Errorf("no span %s is in %d spans", name, len(parents))
	}
	return found
}

// attribute returns an attribute of a span.
func attribute(r *tracing.Record, key string) tracing.Attribute {
	i := slices.IndexFunc(r.Attributes, func(a tracing.Attribute) bool { return a.Key == key })
	if i < 0 {
		return tracing.Attribute{}
	}
	return r.Attributes[i]
}

// TestEventsAreTraced: the handler is in its event, a sub-handler in its handler, and requests are in
// what makes them.
func TestEventsAreTraced(t *testing.T) {
	object := dicts.Object{"apiVersion": "kopf.dev/v1", "kind": "KopfExample", "metadata": dicts.Object{"name": "a"}, "spec": dicts.Object{"field": "value"}}
	server := apiserver.New([]apiserver.Resource{apiserver.Guessed(object)})
	if err := server.Apply(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	guest := &guesttest.Guest{
		Handlers: []abi.Handler{guesttest.Declared(abi.KindCreate, "create_fn", ""), guesttest.Declared(abi.KindDaemon, "daemon_fn", "")},
		Do: map[string]guesttest.Handler{
			"create_fn": func(_ *guesttest.Call, answer *abi.Answer) *abi.Step {
				if answer == nil {
					return &abi.Step{Step: abi.StepExecute, Children: []abi.Handler{{Kind: abi.KindSub, ID: "child"}}}
				}
				return guesttest.Permanent("boo")
			},
		},
	}
	seen := &spans{}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	op, err := New(ctx, inMemory(server, Options{Guests: []guests.Guest{guest}, Tracer: seen}))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- op.Run(ctx) }() // Waited for below.
	for len(seen.named("event")) < 2 || len(seen.named("handler daemon_fn")) == 0 {
		select {
		case <-ctx.Done():
			t.Fatal("the operator has not handled the object")
		case <-time.After(10 * time.Millisecond):
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	events := seen.named("event")
	handlers := seen.within(t, "handler create_fn", events)
	seen.within(t, "handler create_fn/child", handlers)
	patches := seen.within(t, "PATCH", events)
	if h := handlers[0]; !h.Failed || h.Message != "boo" || attribute(h, "kopf.reason").Text != "create" || attribute(h, "kopf.object.name").Text != "a" {
		t.Errorf("the handler: %+v", h)
	}
	if p := patches[0]; p.Kind != tracing.Client || attribute(p, "http.response.status_code").Number != 200 || attribute(p, "url.path").Text != "/apis/kopf.dev/v1/namespaces/default/kopfexamples/a" {
		t.Errorf("the patch: %+v", p)
	}
	if d := seen.named("handler daemon_fn")[0]; d.Parent != [8]byte{} || attribute(d, "kopf.reason").Text != "daemon" {
		t.Errorf("the daemon: %+v", d)
	}
}

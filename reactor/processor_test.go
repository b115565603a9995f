package reactor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// newProcessor serves the examples with a cluster that is nothing but the server.
func newProcessor(registry *Registry, server http.RoundTripper) *processor {
	config := settings.Default()
	vault := credentials.Of(credentials.Info{Config: &rest.Config{Host: "http://server", Transport: server}})
	client := clients.New(vault, func() clients.Options { return clients.OptionsOf(config.Networking) }, func(string) {})
	example := selectors.Resource{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Namespaced: true}
	p := &processor{
		resource: example, settings: config, memories: newMemories(), writer: &writer{client: client}, runnables: newRunnables(),
		log: zerolog.New(io.Discard).Level(zerolog.InfoLevel),
	}
	e, err := newGeneration(0, registry, services{base: p.memories.base, events: newEvents(config)}, nil)
	if err != nil {
		panic(err)
	}
	e.indexed.add()
	e.indexed.done()
	p.generation, p.handlers = e, e.registry.forResource(example)
	p.engine = &engine{
		handlers: p.handlers.spawning, execution: p.execution(progression.AllAtOnce, modeTemporary), writer: p.writer,
		generation: e, runnables: p.runnables, pauses: newPauses(), settings: config,
	}
	return p
}

// handleOne handles an event as the queue of its object does.
func (p *processor) handleOne(ctx context.Context, it item, q *queue) (version string) {
	p.generation.hold()
	version, _ = p.process(ctx, it, q)
	return version
}

// newBenchProcessor makes a processor with one handler of creations.
func newBenchProcessor(b *testing.B, server *memoryServer) *processor {
	b.Helper()
	resource := abi.Selector{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples"}
	registry, err := NewRegistry(instant{handlers: []abi.Handler{{Kind: abi.KindCreate, ID: "create_fn", Resource: &resource}}})
	if err != nil {
		b.Fatal(err)
	}
	return newProcessor(registry, server)
}

// BenchmarkCreation is what the reactor does for a new object, without the guest and
// the API server: its event, the patch, and the event that the patch causes.
func BenchmarkCreation(b *testing.B) {
	server := &memoryServer{}
	p := newBenchProcessor(b, server)
	qs := newQueues(0)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		server.version, server.object = n, newObject(n)
		q := &queue{owner: qs, arrived: make(chan struct{}, 1)}
		for _, kind := range []string{watching.Added, watching.Modified} {
			event := watching.Event{Type: kind, Object: server.object, Meta: watching.Meta{UID: fmt.Sprint("uid-", n)}}
			p.handleOne(b.Context(), item{Event: event}, q)
		}
		if server.version != n+1 {
			b.Fatalf("%d patches, want one", server.version-n)
		}
	}
}

// BenchmarkRestart is what the reactor does for an object that was handled before the
// operator was started.
func BenchmarkRestart(b *testing.B) {
	for _, size := range []int{200, 10_000} {
		b.Run(fmt.Sprintf("%d bytes", size), func(b *testing.B) {
			server := &memoryServer{object: newObject(0)}
			spec := fmt.Sprintf(`"items":[%s{"name":"VARIABLE","value":"value"}]`, strings.Repeat(`{"name":"VARIABLE","value":"value"},`, size/36))
			server.object = []byte(strings.Replace(string(server.object), `"items":[1,2,3]`, spec, 1))
			p := newBenchProcessor(b, server)
			event := watching.Event{Type: watching.Added, Object: server.object, Meta: watching.Meta{UID: "uid-0"}}
			p.handleOne(b.Context(), item{Event: event}, &queue{owner: newQueues(0), arrived: make(chan struct{}, 1)})
			qs := newQueues(0)
			b.ReportAllocs()
			for b.Loop() {
				q := &queue{owner: qs, arrived: make(chan struct{}, 1)}
				p.handleOne(b.Context(), item{Event: watching.Event{Type: watching.Listed, Object: server.object, Meta: event.Meta}}, q)
			}
			if server.version != 1 {
				b.Fatalf("%d patches, want that of the creation", server.version)
			}
		})
	}
}

// Transformations that wait for a fresher body are not lost by a cycle that fails
// for another reason; those that fail themselves are not repeated.
func TestRemainingTransformations(t *testing.T) {
	resource := abi.Selector{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples"}
	registry, err := NewRegistry(instant{handlers: []abi.Handler{{Kind: abi.KindUpdate, ID: "update_fn", Resource: &resource}}})
	if err != nil {
		t.Fatal(err)
	}
	const broken = `{"metadata":{"name":"n","namespace":"default","annotations":{"kopf.zalando.org/last-handled-configuration":"?"}}}`
	for _, tt := range []struct {
		name     string
		object   string
		kind     string
		failing  error // of the transformation
		kept     bool
		released bool
	}{
		{"the cycle fails", broken, watching.Modified, nil, true, false},
		{"the object is deleted", broken, watching.Deleted, nil, false, true},
		{"the transformation fails", string(newObject(1)), watching.Modified, errors.New("boo"), false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newProcessor(registry, &memoryServer{object: []byte(tt.object)})
			p.settings.Queueing.ErrorDelays = backoffs.Backoffs{}
			event := watching.Event{Type: tt.kind, Object: []byte(tt.object), Meta: watching.Meta{UID: "uid"}}
			memory, guest := p.memories.recall(event.Meta.Key(), false), &scripted{alive: 1}
			memory.remaining = []transformation{{task: &scriptedTask{guest: guest}, edit: func(_ context.Context, body dicts.Object) (dicts.Object, error) {
				return body, tt.failing
			}}}
			p.handleOne(t.Context(), item{Event: event}, &queue{owner: newQueues(0), arrived: make(chan struct{}, 1)})
			if kept, released := len(memory.remaining) == 1, guest.alive == 0; kept != tt.kept || released != tt.released {
				t.Errorf("kept: %t, want %t; released: %t, want %t", kept, tt.kept, released, tt.released)
			}
		})
	}
}

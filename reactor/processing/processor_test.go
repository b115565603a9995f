package processing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/daemons"
	"github.com/kopf-wasm/kopf/reactor/events"
	"github.com/kopf-wasm/kopf/reactor/generations"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/meters"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/pauses"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// newProcessor makes a processor for the examples. The server is its whole cluster.
func newProcessor(registry *registries.Registry, server http.RoundTripper) *Processor {
	config := settings.Default()
	vault := credentials.Of(credentials.Info{Config: &rest.Config{Host: "http://server", Transport: server}})
	measured := &meters.Operator{}
	client := clients.New(vault, func() clients.Options {
		o := clients.OptionsOf(config.Networking)
		o.Meter = &measured.Requests
		return o
	}, func(string) {})
	example := selectors.Resource{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Namespaced: true}
	p := &Processor{
		Resource: example, Settings: config, Memories: NewMemories(), Writer: &patching.Writer{Client: client}, Runnables: daemons.NewRunnables(),
		Log: zerolog.New(io.Discard).Level(zerolog.InfoLevel),
	}
	e, err := generations.New(0, registry, handling.Services{Base: p.Memories.Base, Events: events.New(config), Tally: &handling.Tally{}, Meters: &measured.Handlers}, nil)
	if err != nil {
		panic(err)
	}
	e.Indexed.Add()
	e.Indexed.Done()
	p.Generation, p.Handlers = e, e.Registry.ForResource(example)
	p.Engine = &daemons.Engine{
		Handlers: p.Handlers.Spawning, Execution: p.Execution(progression.AllAtOnce, handling.ModeTemporary), Writer: p.Writer,
		Generation: e, Runnables: p.Runnables, Pauses: pauses.New(), Settings: config, Decode: p.Decode,
	}
	return p
}

// handle is the Process of queues.
func (p *Processor) handle(ctx context.Context, it queueing.Item, q *queueing.Queue) (version string) {
	p.Generation.Hold()
	version, _ = p.Process(ctx, it, q)
	return version
}

// handleOne handles an event without queues, and what is postponed.
func (p *Processor) handleOne(ctx context.Context, it queueing.Item, q *queueing.Queue) (version string) {
	return cmp.Or(p.handle(ctx, it, q), queueing.Continue(ctx, q))
}

// newBenchProcessor makes a processor with one handler of creations.
func newBenchProcessor(b *testing.B, server http.RoundTripper) *Processor {
	b.Helper()
	resource := abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
	registry, err := registries.New(reactortest.Instant{Handlers: []abi.Handler{{Kind: abi.KindCreate, ID: "create_fn", Resource: &resource}}})
	if err != nil {
		b.Fatal(err)
	}
	return newProcessor(registry, server)
}

// BenchmarkCreation measures the work of the reactor for a new object without the guest
// and the API server: its event, the patch, and the event of that patch. The server allocates
// nothing, so all memory is that of the reactor and of its HTTP client. Each creation is that
// of one body, with another identity.
func BenchmarkCreation(b *testing.B) {
	server := &reactortest.Recorded{}
	p, event := newBenchProcessor(b, server), recordCreation(b, server)
	created, q := event.Object, queueing.Alone()
	b.ReportAllocs()
	n := 0
	for ; b.Loop(); n++ {
		event.Meta.UID = "uid-" + strconv.Itoa(n)
		event.Type, event.Object = watching.Added, created
		p.handleOne(b.Context(), queueing.Item{Event: event}, q)
		event.Type, event.Object = watching.Modified, server.Answer
		p.handleOne(b.Context(), queueing.Item{Event: event}, q)
	}
	if server.Served != n {
		b.Fatalf("%d patches, want %d", server.Served, n)
	}
}

// recordCreation records the patch of a creation and its answer.
func recordCreation(b *testing.B, server *reactortest.Recorded) (event watching.Event) {
	b.Helper()
	real := &reactortest.MemoryServer{Object: reactortest.NewObject(0)}
	event = watching.Event{Type: watching.Added, Object: real.Object, Meta: watching.Meta{UID: "uid"}}
	newBenchProcessor(b, real).handleOne(b.Context(), queueing.Item{Event: event}, queueing.Alone())
	server.Patch, server.Answer = real.Patch, real.Object
	return event
}

// BenchmarkRestart measures the work of the reactor for an object that was handled before
// the start of the operator.
func BenchmarkRestart(b *testing.B) {
	for _, size := range []int{200, 10_000} {
		b.Run(fmt.Sprintf("%d bytes", size), func(b *testing.B) {
			server := &reactortest.MemoryServer{Object: reactortest.NewObject(0)}
			spec := fmt.Sprintf(`"items":[%s{"name":"VARIABLE","value":"value"}]`, strings.Repeat(`{"name":"VARIABLE","value":"value"},`, size/36))
			server.Object = []byte(strings.Replace(string(server.Object), `"items":[1,2,3]`, spec, 1))
			p := newBenchProcessor(b, server)
			event := watching.Event{Type: watching.Added, Object: server.Object, Meta: watching.Meta{UID: "uid-0"}}
			p.handleOne(b.Context(), queueing.Item{Event: event}, queueing.Alone())
			b.ReportAllocs()
			for b.Loop() {
				q := queueing.Alone()
				p.handleOne(b.Context(), queueing.Item{Event: watching.Event{Type: watching.Listed, Object: server.Object, Meta: event.Meta}}, q)
			}
			if server.Version != 1 {
				b.Fatalf("%d patches, want that of the creation", server.Version)
			}
		})
	}
}

// Transformations that wait for a newer body survive a cycle that fails for another
// reason. Those that fail themselves are not repeated.
func TestRemainingTransformations(t *testing.T) {
	resource := abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
	registry, err := registries.New(reactortest.Instant{Handlers: []abi.Handler{{Kind: abi.KindUpdate, ID: "update_fn", Resource: &resource}}})
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
		{"the transformation fails", string(reactortest.NewObject(1)), watching.Modified, errors.New("boo"), false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newProcessor(registry, &reactortest.MemoryServer{Object: []byte(tt.object)})
			p.Settings.Queueing.ErrorDelays = backoffs.Backoffs{}
			event := watching.Event{Type: tt.kind, Object: []byte(tt.object), Meta: watching.Meta{UID: "uid"}}
			memory, guest := p.Memories.recall(event.Meta.Key(), false), &reactortest.Scripted{Alive: 1}
			memory.leave(p.Resource.Key(), []patching.Transformation{{Task: &reactortest.ScriptedTask{Guest: guest}, Edit: func(_ context.Context, body dicts.Object, _ patching.Charge) (dicts.Object, error) {
				return body, tt.failing
			}}})
			p.handleOne(t.Context(), queueing.Item{Event: event}, queueing.Alone())
			if kept, released := len(memory.remaining(p.Resource.Key())) == 1, guest.Alive == 0; kept != tt.kept || released != tt.released {
				t.Errorf("kept: %t, want %t; released: %t, want %t", kept, tt.kept, released, tt.released)
			}
		})
	}
}

// TestForgottenObjectsKeepNoTasks: what was left over for a next cycle is released, if there is none.
func TestForgottenObjectsKeepNoTasks(t *testing.T) {
	registry, err := registries.New(reactortest.Instant{})
	if err != nil {
		t.Fatal(err)
	}
	for name, forget := range map[string]func(*Processor, context.Context, string){
		"the object is lost": (*Processor).Abandon, "another replica has the object": (*Processor).LetGo,
	} {
		t.Run(name, func(t *testing.T) {
			p, guest := newProcessor(registry, &reactortest.MemoryServer{}), &reactortest.Scripted{Alive: 1}
			p.Memories.recall("uid", false).leave(p.Resource.Key(), []patching.Transformation{{Task: &reactortest.ScriptedTask{Guest: guest}}})
			forget(p, t.Context(), "uid")
			if guest.Alive != 0 {
				t.Error("the task is not released")
			}
		})
	}
}

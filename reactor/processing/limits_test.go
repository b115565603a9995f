package processing

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/daemons"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// TestDaemonsBeyondTheLimit checks that daemons beyond the limit do not run, and are
// retried after a minute.
func TestDaemonsBeyondTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resource := abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
		registry, err := registries.New(reactortest.Instant{Handlers: []abi.Handler{{Kind: abi.KindDaemon, ID: "fn", Resource: &resource}}})
		if err != nil {
			t.Fatal(err)
		}
		touched := time.Duration(0)
		began := time.Now()
		object := strings.Replace(string(reactortest.NewObject(1)), `"metadata":{`, `"metadata":{"finalizers":["kopf.zalando.org/KopfFinalizerMarker"],`, 1)
		p := newProcessor(registry, reactortest.Replying(func(*http.Request) (int, string) {
			touched = time.Since(began)
			return 200, object
		}))
		var log reactortest.Output
		p.Log = zerolog.New(&log)
		p.Memories.Account = accounts.New(accounts.Limits{BodyMemory: 100})
		p.Generation.Services.Account = p.Memories.Account
		it := queueing.Item{Event: watching.Event{Type: watching.Added, Object: []byte(object), Meta: watching.Meta{UID: "uid-1", Name: "example-1"}}}
		p.handleOne(t.Context(), it, queueing.Alone())
		if !strings.Contains(log.String(), "the limit BodyMemory of 100 bytes is reached") {
			t.Errorf("the log has %s", &log)
		}
		if running := len(p.Memories.recall("uid-1", false).daemons().IDs()); running != 0 || touched != daemons.CrowdedDelay {
			t.Errorf("%d daemons run; the object was touched after %v", running, touched)
		}
		if over, _ := p.Memories.recall("uid-1", false).daemons().IsOver("fn"); over {
			t.Error("the daemon will never be started")
		}
	})
}

// TestWorkOfIndicesCounts: decoding and encoding large values of an index is a part of the computing time, and the decoded
// ones count in the account until they are stored.
func TestWorkOfIndicesCounts(t *testing.T) {
	resource := abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
	for size, want := range map[int]int{10: 0, 8 << 10: 2} {
		registry, err := registries.New(&reactortest.Counting{
			Handlers: []abi.Handler{{Kind: abi.KindIndex, ID: "index_fn", Resource: &resource}},
			Step:     abi.Step{Step: abi.StepDone, Outcome: abi.Outcome{Result: reactortest.Text(size)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		p, works, held := newProcessor(registry, nil), 0, 0
		services := p.Generation.Services
		services.Account = accounts.New(accounts.Limits{})
		services.Compute = func(_ context.Context, do func()) {
			works++
			held = reactortest.Held(services.Account, accounts.Patches)
			do()
		}
		object := reactortest.NewObject(0)
		p.handleOne(t.Context(), queueing.Item{Event: watching.Event{Type: watching.Listed, Object: object, Meta: watching.Meta{UID: "uid"}}}, queueing.Alone())
		if n := services.Indices.Len(); n != 1 || works != want || want > 0 && held < size {
			t.Errorf("%d bytes: %d pairs; %d pieces of work, want %d; %d bytes are held at the last one", size, n, works, want, held)
		}
		if n := reactortest.Held(services.Account, accounts.Patches); n != 0 {
			t.Errorf("%d bytes are held afterwards", n)
		}
	}
}

// TestDecodingOfEventsCounts: a tenant whose handlers want none of its large objects let the host decode each of their events for nothing.
func TestDecodingOfEventsCounts(t *testing.T) {
	resource := abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
	registry, err := registries.New(reactortest.Instant{Handlers: []abi.Handler{{Kind: abi.KindEvent, ID: "fn", Resource: &resource, Annotations: map[string]abi.Raw{"a": abi.Raw(`"b"`)}}}})
	if err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int]int{10: 0, 8 << 10: 3} { // decoding, filters, comparing
		p, works := newProcessor(registry, nil), 0
		p.Generation.Services.Compute = func(_ context.Context, do func()) {
			works++
			do()
		}
		object := []byte(`{"metadata":{"name":"x","namespace":"ns","uid":"uid"},"spec":"` + strings.Repeat("x", size) + `"}`)
		p.handleOne(t.Context(), queueing.Item{Event: watching.Event{Type: watching.Modified, Object: object, Meta: watching.Meta{UID: "uid"}}}, queueing.Alone())
		if works != want {
			t.Errorf("%d bytes: %d pieces of work, want %d", size, works, want)
		}
	}
}

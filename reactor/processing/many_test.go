package processing

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// TestManyHandlersCount: the progress of an object with thousands of handlers takes memory of the account while the object is handled.
func TestManyHandlersCount(t *testing.T) {
	resource := abi.Selector{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples"}
	for count, refused := range map[int]bool{fewStates + 10: false, fewStates + 11: true} {
		var handlers []abi.Handler
		for i := range count {
			handlers = append(handlers, abi.Handler{Kind: abi.KindCreate, ID: fmt.Sprint("h", i), Resource: &resource})
		}
		registry, err := registries.New(reactortest.Instant{Handlers: handlers})
		if err != nil {
			t.Fatal(err)
		}
		object := reactortest.NewObject(0)
		p := newProcessor(registry, reactortest.Replying(func(*http.Request) (int, string) { return 200, string(object) }))
		var log reactortest.Output
		p.Log = zerolog.New(&log)
		account := accounts.New(accounts.Limits{PendingMemory: 10 * stateCost})
		p.Generation.Services.Account = account
		p.handleOne(t.Context(), queueing.Item{Event: watching.Event{Type: watching.Added, Object: object, Meta: watching.Meta{UID: "uid"}}}, queueing.Alone())
		if got := strings.Contains(log.String(), "the limit PendingMemory of 10240 bytes is reached"); got != refused {
			t.Errorf("%d handlers: refused %t\n%s", count, got, &log)
		}
		if held := reactortest.Held(account, accounts.Pending); held != 0 {
			t.Errorf("%d handlers: %d bytes are held afterwards", count, held)
		}
	}
}

// TestManyChangesCount: the changed fields of an object take fifteen times as much memory as the object, while its handlers run or
// wait.
func TestManyChangesCount(t *testing.T) {
	resource := abi.Selector{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples"}
	for count, refused := range map[int]bool{fewStates + 10: false, fewStates + 11: true} {
		spec := func(value int) dicts.Object {
			fields := dicts.Object{}
			for i := range count {
				fields[fmt.Sprint(i)] = value
			}
			return fields
		}
		registry, err := registries.New(reactortest.Instant{Handlers: []abi.Handler{{Kind: abi.KindUpdate, ID: "fn", Resource: &resource}}})
		if err != nil {
			t.Fatal(err)
		}
		last := string(dicts.Encode(dicts.Object{"spec": spec(1)})) + "\n"
		object := dicts.Encode(dicts.Object{"metadata": dicts.Object{
			"name": "x", "namespace": "ns", "uid": "uid", "resourceVersion": "1", "annotations": dicts.Object{"kopf.zalando.org/last-handled-configuration": last},
		}, "spec": spec(2)})
		p := newProcessor(registry, reactortest.Replying(func(*http.Request) (int, string) { return 200, string(object) }))
		var log reactortest.Output
		p.Log = zerolog.New(&log)
		account := accounts.New(accounts.Limits{PendingMemory: 10 * diffCost})
		p.Generation.Services.Account = account
		p.handleOne(t.Context(), queueing.Item{Event: watching.Event{Type: watching.Modified, Object: object, Meta: watching.Meta{UID: "uid"}}}, queueing.Alone())
		if got := strings.Contains(log.String(), "the limit PendingMemory of 3000 bytes is reached"); got != refused {
			t.Errorf("%d changes: refused %t\n%s", count, got, &log)
		}
		if held := reactortest.Held(account, accounts.Pending); held != 0 {
			t.Errorf("%d changes: %d bytes are held afterwards", count, held)
		}
	}
}

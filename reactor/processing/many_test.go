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

// countsPending checks whether an event is refused with a limit of memory, and that nothing is held after it.
func countsPending(t *testing.T, registry *registries.Registry, event watching.Event, limit int, refused bool) {
	t.Helper()
	p := newProcessor(registry, reactortest.Replying(func(*http.Request) (int, string) { return 200, string(event.Object) }))
	var log reactortest.Output
	p.Log = zerolog.New(&log)
	account := accounts.New(accounts.Limits{PendingMemory: limit})
	p.Generation.Services.Account = account
	p.handleOne(t.Context(), queueing.Item{Event: event}, queueing.Alone())
	if got := strings.Contains(log.String(), fmt.Sprintf("the limit PendingMemory of %d bytes is reached", limit)); got != refused {
		t.Errorf("refused %t, want %t\n%s", got, refused, &log)
	}
	if held := reactortest.Held(account, accounts.Pending); held != 0 {
		t.Errorf("%d bytes are held afterwards", held)
	}
}

// TestManyHandlersCount: the progress of an object with thousands of handlers takes memory of the account while the object is handled.
func TestManyHandlersCount(t *testing.T) {
	resource := abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
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
		countsPending(t, registry, watching.Event{Type: watching.Added, Object: object, Meta: watching.Meta{UID: "uid"}}, 10*stateCost, refused)
	}
}

// TestManyChangesCount: the changed fields of an object take fifteen times as much memory as the object, while its handlers run or
// wait.
func TestManyChangesCount(t *testing.T) {
	resource := abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
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
		countsPending(t, registry, watching.Event{Type: watching.Modified, Object: object, Meta: watching.Meta{UID: "uid"}}, 10*diffCost, refused)
	}
}

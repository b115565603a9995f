package processing

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
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

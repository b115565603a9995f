package processing

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// TestAnotherObjectOfTheSameName: an object is read again, because the event of the operator's patch is late. It was deleted and made
// again meanwhile. The new one is handled by its own worker, and not by that of the former one, too.
func TestAnotherObjectOfTheSameName(t *testing.T) {
	resource := abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
	for name, tt := range map[string]struct{ uid, calls int }{"the same object": {1, 1}, "another object": {2, 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				guest := &reactortest.Scripted{}
				registry, err := registries.New(declared{guest, []abi.Handler{{Kind: abi.KindCreate, ID: "fn", Resource: &resource}}})
				if err != nil {
					t.Fatal(err)
				}
				p := newProcessor(registry, reactortest.Replying(func(*http.Request) (int, string) {
					return http.StatusOK, string(reactortest.NewObject(tt.uid))
				}))
				event := watching.Event{Type: watching.Modified, Object: reactortest.NewObject(1), Meta: watching.Meta{UID: "uid-1", ResourceVersion: "1"}}
				p.handleOne(t.Context(), queueing.Item{Event: event, ConsistentAt: time.Now().Add(5 * time.Second), Awaited: "2"}, queueing.Alone())
				if len(guest.Invocations) != tt.calls {
					t.Errorf("%d calls, want %d", len(guest.Invocations), tt.calls)
				}
			})
		})
	}
}

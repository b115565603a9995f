package reactor

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// TestDaemonsBeyondTheLimit do not run; it is tried again after a minute.
func TestDaemonsBeyondTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resource := abi.Selector{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples"}
		registry, err := NewRegistry(instant{handlers: []abi.Handler{{Kind: abi.KindDaemon, ID: "fn", Resource: &resource}}})
		if err != nil {
			t.Fatal(err)
		}
		touched := time.Duration(0)
		began := time.Now()
		object := strings.Replace(string(newObject(1)), `"metadata":{`, `"metadata":{"finalizers":["kopf.zalando.org/KopfFinalizerMarker"],`, 1)
		p := newProcessor(registry, replying(func(*http.Request) (int, string) {
			touched = time.Since(began)
			return 200, object
		}))
		var log bytes.Buffer
		p.log = zerolog.New(&log)
		p.memories.account = accounts.New(accounts.Limits{BodyMemory: 100})
		p.generation.services.account = p.memories.account
		it := item{Event: watching.Event{Type: watching.Added, Object: []byte(object), Meta: watching.Meta{UID: "uid-1", Name: "example-1"}}}
		p.handleOne(t.Context(), it, &queue{owner: newQueues(0), arrived: make(chan struct{}, 1)})
		if !strings.Contains(log.String(), "the limit BodyMemory of 100 bytes is reached") {
			t.Errorf("the log has %s", &log)
		}
		if running := p.memories.recall("uid-1", false).background.all(); len(running) != 0 || touched != crowdedDelay {
			t.Errorf("%d daemons run; the object was touched after %v", len(running), touched)
		}
		if over, _ := p.memories.recall("uid-1", false).background.isOver("fn"); over {
			t.Error("the daemon will never be started")
		}
	})
}

package processing

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// TestDaemonsThatAreWantedAgain: a daemon that takes its time to stop is started again after its end, if its filters match again by
// then. No event of the object follows that end.
func TestDaemonsThatAreWantedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resource := abi.Selector{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples"}
		guest := &reactortest.Scripted{Scripts: map[string][]string{"fn": {`{"step":"wait","stoppable":true}`, `{"step":"wait","seconds":20}`}}}
		registry, err := registries.New(declared{guest, []abi.Handler{{Kind: abi.KindDaemon, ID: "fn", Resource: &resource, Labels: map[string]abi.Raw{"on": abi.Raw(`{"$":"PRESENT"}`)}}}})
		if err != nil {
			t.Fatal(err)
		}
		server := &exact{}
		server.Object = reactortest.NewObject(0)
		p := newProcessor(registry, server)
		var log reactortest.Output
		p.Log = zerolog.New(&log)
		qs := queueing.Of(p.Settings)
		qs.Process = func(ctx context.Context, it queueing.Item, q *queueing.Queue) string { return p.handleOne(ctx, it, q) }
		ctx, cancel := context.WithCancel(t.Context())
		server.changed = func() {
			qs.Put(ctx, queueing.Item{Event: watching.Event{Type: watching.Modified, Object: server.Object, Meta: watching.Meta{UID: "uid", ResourceVersion: fmt.Sprint(server.Version)}}})
		}
		label := func(value string) {
			r, _ := http.NewRequest(http.MethodPatch, "http://server", strings.NewReader(`{"metadata":{"labels":{"on":`+value+`}}}`)) //nolint:noctx // it is not sent
			_, _ = server.RoundTrip(r)                                                                                                //nolint:bodyclose // it has no body to close
			time.Sleep(5 * time.Second)
		}
		label(`"x"`)
		label("null")
		label(`"x"`)
		if p.Runnables.Count() != 1 || len(guest.Times) != 1 {
			t.Fatalf("%d daemons run; %d have begun", p.Runnables.Count(), len(guest.Times))
		}
		time.Sleep(time.Minute)
		if p.Runnables.Count() != 1 || len(guest.Times) != 2 {
			t.Errorf("%d daemons run; %d have begun, want 2\n%s\n%s", p.Runnables.Count(), len(guest.Times), &log, server.Object)
		}
		p.Runnables.End()
		qs.Drain(cancel, 0)
	})
}

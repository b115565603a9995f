package processing

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/internal/heaptest"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// weighing is a guest that looks how much memory is in use while its handlers run.
type weighing struct {
	reactortest.Instant
	used *int
}

func (g weighing) Start(ctx context.Context, inv *abi.Invocation, body []byte, e guests.Env) (guests.Task, *abi.Step, error) {
	*g.used = heaptest.InUse()
	return g.Instant.Start(ctx, inv, body, e)
}

// TestHandlersKeepTexts: handlers can wait for days, for thousands of objects. Meanwhile, their objects stay text, which is what the
// account counts: decoded, they take up to sixty times as much.
func TestHandlersKeepTexts(t *testing.T) {
	for _, items := range []int{20_000, 400} {
		t.Run(fmt.Sprint(items), func(t *testing.T) { handlersKeepTexts(t, items) })
	}
}

func handlersKeepTexts(t *testing.T, items int) {
	t.Helper()
	list := func(item string) string { return "[" + strings.Repeat(item+",", items) + item + "]" }
	long, other := list(`{"a":0}`), list(`{"a":1}`)
	handled := `"annotations":{"kopf.zalando.org/last-handled-configuration":` + string(dicts.Encode(`{"spec":{"l":`+other+`}}`+"\n")) + `},`
	for _, tt := range []struct{ name, metadata, status, spec, handler string }{
		{name: "of a creation", spec: `"l":` + long, handler: `{"kind":"create"}`},
		{name: "with a letter", spec: `"l":` + long + `,"t":"ü"`, handler: `{"kind":"create"}`},
		{name: "of raw events", spec: `"l":` + long + `,"t":"ü"`, handler: `{"kind":"event"}`},
		{name: "of a filter", spec: `"l":` + long, handler: `{"kind":"event","field":["spec","l"]}`},
		{name: "of a field", spec: `"l":` + long, handler: `{"kind":"field","field":["spec","l"]}`},
		{name: "of a part of a field", spec: `"m":{"l":` + long + `}`, handler: `{"kind":"field","field":["spec","m"]}`},
		{name: "of the status", spec: `"a":1`, status: `"l":` + long, handler: `{"kind":"field","field":["status","l"]}`},
		{name: "of an update", metadata: handled, spec: `"l":` + long, handler: `{"kind":"update"}`},
		{name: "of an update of a field", metadata: handled, spec: `"l":` + long, handler: `{"kind":"update","field":["spec","l"]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := reactortest.HandlerOf(t, reactortest.Instant{}, strings.Replace(tt.handler, "{", `{"id":"fn",`, 1)).Spec
			h.Resource = &abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
			used := 0
			registry, err := registries.New(weighing{reactortest.Instant{Handlers: []abi.Handler{h}}, &used})
			if err != nil {
				t.Fatal(err)
			}
			object := []byte(`{"metadata":{` + tt.metadata + `"name":"x","namespace":"ns","uid":"uid"},"spec":{` + tt.spec + `},"status":{` + tt.status + `}}`)
			p := newProcessor(registry, reactortest.Replying(func(*http.Request) (int, string) { return 200, string(object) }))
			it := queueing.Item{Event: watching.Event{Type: watching.Modified, Object: object, Meta: watching.Meta{UID: "uid"}}}
			before := heaptest.InUse()
			p.handle(t.Context(), it, queueing.Alone())
			if used == 0 {
				t.Fatal("the handler was not called")
			}
			if more := used - before; more > 4*len(object)+(64<<10) { // with what the first call makes
				t.Errorf("an object of %d bytes takes %d more while its handler runs", len(object), more)
			}
			runtime.KeepAlive(object)
		})
	}
}

package processing

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/completion"
	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// refusing is an API server that refuses all patches.
type refusing struct{}

func (refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	body := `{"kind":"Status","status":"Failure","reason":"Invalid","message":"no","code":422}`
	return &http.Response{StatusCode: http.StatusUnprocessableEntity, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// TestOnceEndsWithObjectsThatCannotBePatched: no event of such an object follows, so an operator that runs once does
// not wait for it, and has failed.
func TestOnceEndsWithObjectsThatCannotBePatched(t *testing.T) {
	resource := abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
	for name, delays := range map[string]backoffs.Backoffs{"throttled": backoffs.Seconds(0.01), "without delays": {}} {
		t.Run(name, func(t *testing.T) {
			registry, err := registries.New(reactortest.Instant{Handlers: []abi.Handler{{Kind: abi.KindCreate, ID: "create_fn", Resource: &resource}}})
			if err != nil {
				t.Fatal(err)
			}
			p := newProcessor(registry, refusing{})
			p.Settings.Queueing.ErrorDelays = delays
			p.Completion = completion.New(true)
			p.Completion.Expect(dimensions.Key{})
			p.Completion.Begin()
			p.Completion.Add("uid")
			p.Completion.Listed(dimensions.Key{})
			p.handleOne(t.Context(), queueing.Item{Event: watching.Event{Type: watching.Listed, Object: reactortest.NewObject(0), Meta: watching.Meta{UID: "uid"}}}, queueing.Alone())
			if settled, handled, failed := p.Completion.State(); !settled || handled != 1 || failed != 1 {
				t.Errorf("settled: %v, %d objects handled, %d failures; want one failed object", settled, handled, failed)
			}
		})
	}
}

// TestOnceEndsWithPatchesWithoutEffect: a handler of raw events sets the same field at each event. No event follows the second patch.
func TestOnceEndsWithPatchesWithoutEffect(t *testing.T) {
	resource := abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
	for name, step := range map[string]string{
		"fields": `{"step":"done","patch":{"status":{"x":1}}}`, "a result": `{"step":"done","result":1}`, "a function": `{"step":"done","patch":{"status":{"x":1}},"transforms":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				guest := &reactortest.Scripted{Edits: func(dicts.Object) {}, Scripts: map[string][]string{"raw": {step}}}
				registry, err := registries.New(declared{guest, []abi.Handler{{Kind: abi.KindEvent, ID: "raw", Resource: &resource}}})
				if err != nil {
					t.Fatal(err)
				}
				server := &exact{}
				server.Object = reactortest.NewObject(0)
				p := newProcessor(registry, server)
				p.Completion = completion.New(true)
				p.Completion.Expect(dimensions.Key{})
				p.Completion.Begin()
				p.Completion.Add("uid")
				p.Completion.Listed(dimensions.Key{})
				qs := queueing.Of(p.Settings)
				qs.SetEvery(true)
				qs.Process = p.handle
				ctx, cancel := context.WithCancel(t.Context())
				put := func(kind string) {
					qs.Put(ctx, queueing.Item{Event: watching.Event{Type: kind, Object: server.Object, Meta: watching.Meta{UID: "uid", ResourceVersion: fmt.Sprint(server.Version)}}})
				}
				server.changed = func() { put(watching.Modified) }
				put(watching.Listed)
				time.Sleep(time.Minute)
				if settled, handled, failed := p.Completion.State(); !settled || handled != 1 || failed != 0 {
					t.Errorf("settled: %v, %d objects handled, %d failures; want one object; the handler was called %d times", settled, handled, failed, len(guest.Invocations))
				}
				qs.Drain(cancel, time.Second)
			})
		})
	}
}

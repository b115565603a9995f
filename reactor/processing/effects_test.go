package processing

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/watching"
	"github.com/kopf-wasm/kopf/stores"
)

// declared is a scripted guest with a registration.
type declared struct {
	*reactortest.Scripted
	handlers []abi.Handler
}

func (g declared) Registration() *abi.Registration { return &abi.Registration{Handlers: g.handlers} }

// exact is a cluster of one object. As in an API server, a patch that changes nothing makes neither a version nor an event.
type exact struct {
	reactortest.MemoryServer
	changed func()
}

func (s *exact) RoundTrip(r *http.Request) (*http.Response, error) {
	before, version := s.Object, s.Version
	answer, err := s.MemoryServer.RoundTrip(r)
	if string(anonymous(before)) != string(anonymous(s.Object)) {
		s.changed()
		return answer, err
	}
	s.Object, s.Version = before, version
	return reactortest.Replying(func(*http.Request) (int, string) { return http.StatusOK, string(before) }).RoundTrip(r)
}

// anonymous returns an object without its version.
func anonymous(object []byte) []byte {
	var body dicts.Object
	_ = json.Unmarshal(object, &body) // it is valid
	delete(body["metadata"].(map[string]any), "resourceVersion")
	return dicts.Encode(body)
}

// TestPatchesWithoutEffectKeepDelays: no event follows a patch that changes nothing, so the cycle waits for the next attempt itself.
func TestPatchesWithoutEffectKeepDelays(t *testing.T) {
	const usual = `{"step":"done","patch":{"status":{"x":1}}}`
	for _, tt := range []struct{ name, step string }{
		{"the same fields", usual},
		{"a function that changes nothing", `{"step":"done","patch":{"status":{"x":1}},"transforms":1}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				resource := abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
				guest := &reactortest.Scripted{Edits: func(dicts.Object) {}, Scripts: map[string][]string{
					"raw": {tt.step}, "fn": {`{"step":"done","error":{"kind":"temporary","message":"later","delay":60}}`},
				}}
				registry, err := registries.New(declared{guest, []abi.Handler{{Kind: abi.KindEvent, ID: "raw", Resource: &resource}, {Kind: abi.KindCreate, ID: "fn", Resource: &resource}}})
				if err != nil {
					t.Fatal(err)
				}
				server := &exact{}
				server.Object = reactortest.NewObject(0)
				p := newProcessor(registry, server)
				qs := queueing.Of(p.Settings)
				qs.SetEvery(true)
				qs.Process = p.handle
				ctx, cancel := context.WithCancel(t.Context())
				server.changed = func() {
					qs.Put(ctx, queueing.Item{Event: watching.Event{Type: watching.Modified, Object: server.Object, Meta: watching.Meta{UID: "uid", ResourceVersion: fmt.Sprint(server.Version)}}})
				}
				server.changed()
				time.Sleep(150 * time.Second)
				synctest.Wait()
				calls := 0
				for _, inv := range guest.Invocations {
					if inv.ID == "fn" {
						calls++
					}
				}
				if calls != 3 {
					t.Errorf("%d attempts in 2.5 minutes, want 3", calls)
				}
				qs.Drain(cancel, 0)
			})
		})
	}
}

// delayed returns a new object whose handler fn waits for its second attempt.
func delayed(n int, until time.Time) []byte {
	record := fmt.Sprintf(`{"started":"2000-01-01T00:00:00.000000+00:00","delayed":%q,"retries":1,"success":false,"failure":false}`, stores.FormatTime(until))
	return []byte(strings.Replace(string(reactortest.NewObject(n)), `"metadata":{`, fmt.Sprintf(`"metadata":{"annotations":{"kopf.zalando.org/fn":%q},`, record), 1))
}

// TestHandlersThatAreDueSoonNeedNoTouch: the request would take longer than the rest of their delay.
func TestHandlersThatAreDueSoonNeedNoTouch(t *testing.T) {
	for delay, want := range map[time.Duration]int{soon: 0, soon + time.Millisecond: 1} {
		t.Run(delay.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun, touches := time.Now(), 0
				resource := abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
				guest := &reactortest.Scripted{Begin: begun, Scripts: map[string][]string{"fn": {`{"step":"done"}`}}}
				registry, err := registries.New(declared{guest, []abi.Handler{{Kind: abi.KindCreate, ID: "fn", Resource: &resource}}})
				if err != nil {
					t.Fatal(err)
				}
				server := &exact{}
				server.Object = delayed(0, begun.Add(delay))
				p := newProcessor(registry, server)
				qs := queueing.Of(p.Settings)
				qs.Process = p.handle
				ctx, cancel := context.WithCancel(t.Context())
				server.changed = func() {
					if bytes.Contains(server.Patch, []byte(`"kopf.zalando.org/touch-dummy":"`)) {
						touches++
					}
					qs.Put(ctx, queueing.Item{Event: watching.Event{Type: watching.Modified, Object: server.Object, Meta: watching.Meta{UID: "uid", ResourceVersion: fmt.Sprint(server.Version)}}})
				}
				server.changed()
				time.Sleep(time.Minute)
				synctest.Wait()
				if len(guest.Invocations) != 1 || touches != want {
					t.Errorf("%d attempts, %d touches, want 1 and %d", len(guest.Invocations), touches, want)
				}
				qs.Drain(cancel, 0)
			})
		})
	}
}

// TestTouchesDiffer: a wait that was ended early, and the next one that lasts as long as the first one should have, make an event each.
func TestTouchesDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resource := abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
		registry, err := registries.New(reactortest.Instant{Handlers: []abi.Handler{{Kind: abi.KindCreate, ID: "fn", Resource: &resource}}})
		if err != nil {
			t.Fatal(err)
		}
		server, events := &exact{}, 0
		server.Object = delayed(0, time.Now().AddDate(50, 0, 0))
		p := newProcessor(registry, server)
		qs := queueing.Of(p.Settings)
		var nudge func()
		qs.Process = func(ctx context.Context, it queueing.Item, q *queueing.Queue) string {
			nudge = q.Nudger()
			return p.handle(ctx, it, q)
		}
		ctx, cancel := context.WithCancel(t.Context())
		server.changed = func() {
			events++
			qs.Put(ctx, queueing.Item{Event: watching.Event{Type: watching.Modified, Object: server.Object, Meta: watching.Meta{UID: "uid", ResourceVersion: fmt.Sprint(server.Version)}}})
		}
		server.changed()
		synctest.Wait()
		nudge()
		time.Sleep(longestSleep + time.Second)
		synctest.Wait()
		if events != 3 {
			t.Errorf("%d events, want that of the object and two of touches", events)
		}
		qs.Drain(cancel, 0)
	})
}

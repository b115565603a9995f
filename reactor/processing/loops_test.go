package processing

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/loops"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// patcher is a guest whose handlers patch the object in each of their first calls.
type patcher struct {
	reactortest.Instant
	most  int // patches; then the handlers change nothing
	calls []string
}

func (g *patcher) Start(_ context.Context, inv *abi.Invocation, _ []byte, _ guests.Env) (guests.Task, *abi.Step, error) {
	g.calls = append(g.calls, inv.ID)
	done := &abi.Step{Step: abi.StepDone}
	if len(g.calls) <= g.most {
		done.Patch = abi.Raw(fmt.Sprintf(`{"spec":{"field":"%d"}}`, len(g.calls)))
	}
	return &reactortest.ScriptedTask{Guest: &reactortest.Scripted{}}, done, nil
}

// watched is a cluster of one object, whose changes are events of queues.
type watched struct {
	reactortest.MemoryServer
	mu      sync.Mutex // held during a request
	changed func(object []byte, version string)
}

func (w *watched) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	answer, err := w.MemoryServer.RoundTrip(r)
	w.changed(w.Object, fmt.Sprint(w.Version))
	return answer, err
}

// edit changes the object as another client does.
func (w *watched) edit(change string) {
	r, _ := http.NewRequest(http.MethodPatch, "http://server", strings.NewReader(change)) //nolint:noctx // it is not sent
	w.RoundTrip(r)                                                                        //nolint:bodyclose // it has no body to close
}

// follow handles the events of one object by a guest with one handler of a kind.
func follow(t *testing.T, kind abi.Kind, g *patcher) (*watched, *Processor) {
	t.Helper()
	resource := abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
	g.Handlers = []abi.Handler{{Kind: kind, ID: "fn", Resource: &resource}}
	registry, err := registries.New(g)
	if err != nil {
		t.Fatal(err)
	}
	server := &watched{}
	p := newProcessor(registry, server)
	p.Loops = loops.New(30)
	qs := queueing.Of(p.Settings)
	qs.SetEvery(kind == abi.KindEvent)
	qs.Process = func(ctx context.Context, it queueing.Item, q *queueing.Queue) string {
		for {
			p.Generation.Hold()
			if version, again := p.Process(ctx, it, q); !again {
				return version
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() { qs.Drain(cancel, time.Second) })
	server.changed = func(object []byte, version string) {
		qs.Put(ctx, queueing.Item{Event: watching.Event{Type: watching.Modified, Object: object, Meta: watching.Meta{UID: "uid", ResourceVersion: version}}})
	}
	handled := dicts.Object{}
	if err := json.Unmarshal(reactortest.NewObject(0), &handled); err != nil {
		t.Fatal(err)
	}
	essence := dicts.Encode(dicts.Object{"spec": handled["spec"]})
	handled["metadata"].(dicts.Object)["annotations"] = dicts.Object{"kopf.zalando.org/last-handled-configuration": string(essence) + "\n"}
	server.Object = dicts.Encode(handled)
	return server, p
}

// TestOperatorsThatTriggerThemselvesAreSlowedDown: their own patch is why they are called,
// for changes and for raw events.
func TestOperatorsThatTriggerThemselvesAreSlowedDown(t *testing.T) {
	for _, kind := range []abi.Kind{abi.KindUpdate, abi.KindEvent} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &patcher{most: 1000}
				server, p := follow(t, kind, g)
				server.edit(`{"spec":{"field":"by a user"}}`)
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				if n := len(g.calls); n < 329 || n > 332 {
					t.Errorf("%d calls in 10 minutes, want 30 at once and 30 a minute", n)
				}
				if found := p.Loops.Loops(time.Now()); len(found) != 1 || found[0].Handler != "fn" || found[0].Object != "kopfexamples.v1.kopf.dev default/example-0" {
					t.Errorf("the loops are %v", found)
				}
				server.edit(`{"metadata":{"labels":{"by":"a user"}}}`)
				synctest.Wait()
				if n := len(g.calls); n < 330 {
					t.Error("a change by a user waits")
				}
			})
		})
	}
}

// TestOrdinaryOperatorsAreNeverSlowedDown: what their own patches cause ends, or others
// change the objects.
func TestOrdinaryOperatorsAreNeverSlowedDown(t *testing.T) {
	for _, kind := range []abi.Kind{abi.KindUpdate, abi.KindEvent} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &patcher{most: 29}
				server, p := follow(t, kind, g)
				server.edit(`{"spec":{"field":"by a user"}}`)
				synctest.Wait()
				if n := len(g.calls); n != 30 {
					t.Errorf("%d calls, want 29 with a patch", n)
				}
				for i := range 500 {
					g.most = len(g.calls) + 1
					server.edit(fmt.Sprintf(`{"spec":{"field":"user's %d"}}`, i))
					synctest.Wait()
				}
				if n := len(g.calls); n != 1030 {
					t.Errorf("%d calls, want 2 more for each change by a user", n)
				}
				if found := p.Loops.Loops(time.Now()); len(found) != 0 {
					t.Errorf("the loops are %v", found)
				}
			})
		})
	}
}

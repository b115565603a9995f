package streams

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/processing"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// TestBodiesAreReadAgain checks that the body of an event that waited without it is read
// when the event is handled.
func TestBodiesAreReadAgain(t *testing.T) {
	meta := watching.Meta{UID: "uid-1", Name: "example-1", Namespace: "default", ResourceVersion: "1"}
	other := strings.Replace(string(reactortest.NewObject(1)), "uid-1", "uid-2", 1)
	for _, tt := range []struct {
		name    string
		kind    string
		replies []string // by request; empty: a server error
		code    int
		body    string // a part of the body; empty: the event is obsolete
		after   time.Duration
	}{
		{"a change", watching.Modified, []string{string(reactortest.NewObject(1))}, 200, `"name":"example-1"`, 0},
		{"an object of a listing", watching.Listed, []string{string(reactortest.NewObject(1))}, 200, `"name":"example-1"`, 0},
		{"after errors", watching.Modified, []string{"", "", string(reactortest.NewObject(1))}, 200, `"name":"example-1"`, 3 * time.Second},
		{"it is gone", watching.Modified, []string{"{}"}, 404, "", 0},
		{"another one has its name", watching.Modified, []string{other}, 200, "", 0},
		{"a deletion", watching.Deleted, nil, 200, `"kind":"KopfExample","metadata":{"name":"example-1"`, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int32
				server := reactortest.Replying(func(r *http.Request) (int, string) {
					if r.Method != http.MethodGet || r.URL.Path != "/apis/kopf.dev/v1/namespaces/default/kopfexamples/example-1" {
						t.Errorf("unexpected: %s %s", r.Method, r.URL)
					}
					reply := tt.replies[asked.Add(1)-1]
					if reply == "" {
						return 422, "{}"
					}
					return tt.code, reply
				})
				vault := credentials.Of(credentials.Info{Config: &rest.Config{Host: "http://server", Transport: server}})
				client := clients.New(vault, func() clients.Options { return clients.Options{} }, func(string) {})
				common := &Common{Client: client, Memories: processing.NewMemories(), Log: zerolog.Nop()}
				example := selectors.Resource{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Namespaced: true}
				s := &Stream{common: common, Dimension: dimensions.Dimension{Resource: example}}
				it := queueing.Item{Event: watching.Event{Type: tt.kind, Meta: meta}, Bodiless: true}
				began := time.Now()
				it, known := s.reread(t.Context(), it, queueing.Alone())
				if known != (tt.body != "") || known && (it.Type != tt.kind || it.Bodiless || !strings.Contains(string(it.Object), tt.body)) {
					t.Errorf("%t: %s %s, want %q", known, it.Type, it.Object, tt.body)
				}
				if int(asked.Load()) != len(tt.replies) {
					t.Errorf("%d requests, want %d", asked.Load(), len(tt.replies))
				}
				if took := time.Since(began); took != tt.after {
					t.Errorf("it took %v, want %v", took, tt.after)
				}
			})
		})
	}
}

// TestBodiesCountWhileTheyAreHandled checks that the bodies of objects whose handlers wait
// are bounded: an object beyond the limit is read when there is room for it.
func TestBodiesCountWhileTheyAreHandled(t *testing.T) {
	const delay = time.Hour
	synctest.Test(t, func(t *testing.T) {
		body := reactortest.NewObject(1)
		second := strings.Replace(string(body), "uid-1", "uid-2", 1)
		account := accounts.New(accounts.Limits{PendingMemory: len(body) + 1000})
		var reads atomic.Int32
		server := reactortest.Replying(func(*http.Request) (int, string) {
			reads.Add(1)
			return 200, second // the first one has room
		})
		vault := credentials.Of(credentials.Info{Config: &rest.Config{Host: "http://server", Transport: server}})
		client := clients.New(vault, func() clients.Options { return clients.Options{} }, func(string) {})
		example := selectors.Resource{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Namespaced: true}
		s := &Stream{common: &Common{Client: client, Memories: processing.NewMemories(), Log: zerolog.Nop()}, Dimension: dimensions.Dimension{Resource: example}}
		qs := queueing.New(0)
		qs.Account = account
		handled := map[string]time.Time{}
		qs.Process = func(ctx context.Context, it queueing.Item, q *queueing.Queue) string {
			if it.Bodiless {
				it, _ = s.admit(ctx, it, q)
				defer q.Give(&it)
			}
			handled[it.Meta.UID] = time.Now()
			q.Sleep(ctx, delay) // as a handler that waits
			return ""
		}
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		for _, name := range []string{"first", "second"} {
			meta := watching.Meta{UID: "uid-1", Name: name, Namespace: "default"}
			if name == "second" {
				meta.UID, body = "uid-2", []byte(second)
			}
			qs.Put(ctx, queueing.Item{Event: watching.Event{Type: watching.Modified, Object: body, Meta: meta}})
			synctest.Wait()
		}
		time.Sleep(2*delay + time.Minute)
		synctest.Wait()
		if n := reactortest.Held(account, accounts.Pending); n != 0 {
			t.Errorf("%d bytes are held at the end", n)
		}
		qs.Drain(cancel, time.Second)
		if handled["uid-1"] != began || handled["uid-2"].Sub(began) < delay || handled["uid-2"].Sub(began) > delay+time.Minute {
			t.Errorf("handled at %v, began at %v", handled, began)
		}
		if reads.Load() != 2 {
			t.Errorf("the body was read %d times, want once without room and once with it", reads.Load())
		}
	})
}

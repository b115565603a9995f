package reactor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// TestTooManyChildren: of one call, in one step or in many.
func TestTooManyChildren(t *testing.T) {
	declare := func(from, to int) string {
		var list []string
		for i := from; i < to; i++ {
			list = append(list, fmt.Sprintf(`{"kind":"sub","id":"c%d"}`, i))
		}
		return strings.Join(list, ",")
	}
	for _, tt := range []struct {
		name   string
		script []string
		want   string // in the error; empty: none
	}{
		{"as many as may be", []string{`{"step":"done","lifecycle":"all_at_once","children":[` + declare(0, 10) + `]}`}, ""},
		{"one more", []string{`{"step":"done","lifecycle":"all_at_once","children":[` + declare(0, 11) + `]}`}, "11 sub-handlers of one call, but the limit MaxChildren is 10"},
		{
			"one more by and by",
			[]string{`{"step":"execute","lifecycle":"all_at_once","children":[` + declare(0, 6) + `]}`, `{"step":"execute","lifecycle":"all_at_once","children":[` + declare(6, 11) + `]}`},
			"11 sub-handlers of one call, but the limit MaxChildren is 10",
		},
		{
			"large ones",
			[]string{`{"step":"done","children":[{"kind":"sub","id":"c","param":"` + strings.Repeat("x", 100_000) + `"}]}`},
			"the limit ChildMemory of 50000 bytes is reached",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t, &scripted{scripts: map[string][]string{"fn": tt.script}}, `{"metadata":{"name":"x"}}`)
			s.cause.account = accounts.New(accounts.Limits{MaxChildren: 10, ChildMemory: 50_000})
			done, err := s.x.attempt(t.Context(), s.handler(t, `{"id":"fn"}`), s.cause, fresh(0, 0))
			if err != nil {
				t.Fatal(err)
			}
			if done.failed != (tt.want != "") || !strings.Contains(done.message, tt.want) {
				t.Errorf("failed: %t, message %q; want %q", done.failed, done.message, tt.want)
			}
			if tt.want != "" && (done.final || s.cause.account.Usage()[accounts.Children].Refused != 1) {
				t.Errorf("final: %t, %d refusals", done.final, s.cause.account.Usage()[accounts.Children].Refused)
			}
			s.cause.patch.release(t.Context(), 0)
			if n := held(s.cause.account, accounts.Children); n != 0 {
				t.Errorf("%d bytes are held after the cycle", n)
			}
		})
	}
}

// TestLargeOutcomes: results, patches and errors count until the end of the cycle.
func TestLargeOutcomes(t *testing.T) {
	large := strings.Repeat("x", 60_000)
	for _, outcome := range []string{`"result":"` + large + `"`, `"patch":{"spec":"` + large + `"}`, `"error":{"kind":"temporary","message":"` + large + `"}`, `"warnings":["` + large + `"]`} {
		name, _, _ := strings.Cut(outcome, ":")
		t.Run(name, func(t *testing.T) {
			script := []string{`{"step":"done",` + outcome + `}`}
			s := newStage(t, &scripted{scripts: map[string][]string{"a": script, "b": script}}, `{"metadata":{"name":"x"}}`)
			s.cause.account = accounts.New(accounts.Limits{PatchMemory: 100_000})
			first, err := s.x.attempt(t.Context(), s.handler(t, `{"id":"a"}`), s.cause, fresh(0, 0))
			if err != nil || strings.Contains(first.message, "PatchMemory") {
				t.Fatalf("the first one: %v, %.100s", err, first.message)
			}
			second, err := s.x.attempt(t.Context(), s.handler(t, `{"id":"b"}`), s.cause, fresh(0, 0))
			if err != nil || second.final || !strings.Contains(second.message, "the limit PatchMemory of 100000 bytes is reached") {
				t.Errorf("the second one: %v, final: %t, %.200s", err, second.final, second.message)
			}
			s.cause.patch.release(t.Context(), 0)
			if n := held(s.cause.account, accounts.Patches); n != 0 {
				t.Errorf("%d bytes are held after the cycle", n)
			}
		})
	}
}

// TestAnswersCountUntilTheyAreTaken by the handlers that have asked.
func TestAnswersCountUntilTheyAreTaken(t *testing.T) {
	s := newStage(t, &scripted{}, `{"metadata":{"name":"x"}}`)
	s.cause.account = accounts.New(accounts.Limits{AnswerMemory: 100_000})
	talk := func() *conversation {
		return &conversation{cause: s.cause, task: &scriptedTask{guest: s.guest}}
	}
	answer := abi.Answer{Response: &abi.Response{Status: 200, Body: text(60_000)}}
	one, two := talk(), talk()
	if kept := one.keep(answer); kept.Response == nil {
		t.Fatalf("the first one: %+v", kept.Error)
	}
	refused := two.keep(answer)
	if refused.Response != nil || refused.Error.Type != abi.CallTooLarge || !strings.Contains(refused.Error.Message, "the limit AnswerMemory of 100000 bytes is reached") {
		t.Errorf("the second one: %+v", refused.Error)
	}
	if _, err := one.resume(t.Context(), answer); err != nil {
		t.Fatal(err)
	}
	if kept := two.keep(answer); kept.Response == nil {
		t.Errorf("there is room again: %+v", kept.Error)
	}
}

// TestQueuesOverTheLimit: however many events an object has, and whoever wants to see each of
// them, the bodies that wait are bounded; each object is handled, the newest state last.
func TestQueuesOverTheLimit(t *testing.T) {
	const limit, objects, changes, size = 1 << 20, 100, 50, 10_000
	synctest.Test(t, func(t *testing.T) {
		busy := make(chan struct{})
		var first sync.Once
		var mu sync.Mutex
		last := map[string]string{}
		bodiless := 0
		r := &recorder{work: func(_ context.Context, it item, _ *queue) string {
			first.Do(func() { <-busy })
			mu.Lock()
			defer mu.Unlock()
			last[it.Meta.UID] = it.Type + " " + it.Meta.ResourceVersion
			if it.bodiless {
				bodiless++
			}
			return ""
		}}
		qs := testQueues(r)
		qs.every, qs.limit = true, 1
		qs.account = accounts.New(accounts.Limits{PendingMemory: limit})
		ctx, cancel := context.WithCancel(t.Context())
		put := func(uid string, version int, kind string) {
			it := event(uid, version, kind)
			it.Object = make([]byte, size)
			qs.put(ctx, it)
		}
		put("blocker", 1, watching.Added)
		synctest.Wait()
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for version := 1; version <= changes; version++ {
			for i := range objects {
				kind := watching.Modified
				if version == 1 {
					kind = watching.Added
				}
				put(fmt.Sprint("object", i), version, kind)
			}
		}
		put("object7", changes+1, watching.Deleted)
		runtime.GC()
		runtime.ReadMemStats(&after)
		if more := int(after.HeapAlloc) - int(before.HeapAlloc); more > 4*limit {
			t.Errorf("the heap has %d bytes more for a limit of %d", more, limit)
		}
		if n := held(qs.account, accounts.Pending); n > limit || n < limit/2 {
			t.Errorf("%d bytes are held", n)
		}
		close(busy)
		time.Sleep(time.Minute)
		cancel()
		qs.drain(cancel, time.Second)
		for i := range objects {
			name, want := fmt.Sprint("object", i), fmt.Sprint(" ", changes)
			if i == 7 {
				want = fmt.Sprint(watching.Deleted, " ", changes+1)
			}
			if !strings.HasSuffix(last[name], want) {
				t.Errorf("%s was handled as %q last, want %q", name, last[name], want)
			}
		}
		if seen, _ := r.snapshot(); bodiless == 0 || len(seen) > objects*changes/10 {
			t.Errorf("%d events were handled, %d of which have waited without their bodies", len(seen), bodiless)
		}
		if n := held(qs.account, accounts.Pending); n != 0 {
			t.Errorf("%d bytes are left", n)
		}
	})
}

// replying is an API server that answers what it is told to.
type replying func(r *http.Request) (code int, body string)

func (f replying) RoundTrip(r *http.Request) (*http.Response, error) {
	code, body := f(r)
	return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}, nil
}

// TestBodiesAreReadAgain when the place of an event comes that has waited without its body.
func TestBodiesAreReadAgain(t *testing.T) {
	meta := watching.Meta{UID: "uid-1", Name: "example-1", Namespace: "default", ResourceVersion: "1"}
	other := strings.Replace(string(newObject(1)), "uid-1", "uid-2", 1)
	for _, tt := range []struct {
		name    string
		kind    string
		replies []string // by their requests; empty: an error of the server
		code    int
		body    string // a part of it; empty: the event is over
		after   time.Duration
	}{
		{"a change", watching.Modified, []string{string(newObject(1))}, 200, `"name":"example-1"`, 0},
		{"an object of a listing", watching.Listed, []string{string(newObject(1))}, 200, `"name":"example-1"`, 0},
		{"after errors", watching.Modified, []string{"", "", string(newObject(1))}, 200, `"name":"example-1"`, 3 * time.Second},
		{"it is gone", watching.Modified, []string{"{}"}, 404, "", 0},
		{"another one has its name", watching.Modified, []string{other}, 200, "", 0},
		{"a deletion", watching.Deleted, nil, 200, `"kind":"KopfExample","metadata":{"name":"example-1"`, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int32
				p := newProcessor(&Registry{}, replying(func(r *http.Request) (int, string) {
					if r.Method != http.MethodGet || r.URL.Path != "/apis/kopf.dev/v1/namespaces/default/kopfexamples/example-1" {
						t.Errorf("unexpected: %s %s", r.Method, r.URL)
					}
					reply := tt.replies[asked.Add(1)-1]
					if reply == "" {
						return 422, "{}"
					}
					return tt.code, reply
				}))
				host := &streamHost{client: p.writer.client, memories: p.memories, log: p.log}
				s := &servedStream{host: host, dimension: dimension{resource: p.resource}}
				it := item{Event: watching.Event{Type: tt.kind, Meta: meta}, bodiless: true}
				began := time.Now()
				it, known := s.reread(t.Context(), it, &queue{owner: newQueues(0), arrived: make(chan struct{}, 1)})
				if known != (tt.body != "") || known && (it.Type != tt.kind || it.bodiless || !strings.Contains(string(it.Object), tt.body)) {
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

// TestBodiesOfDaemonsAreBounded: objects beyond the limit have none for now.
func TestBodiesOfDaemonsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		account := accounts.New(accounts.Limits{BodyMemory: 100_000})
		var one, two backgroundMemory
		run := func(m *backgroundMemory) *daemon {
			d := &daemon{handler: &Handler{ID: "fn"}, stopper: newStopper(), done: make(chan struct{})}
			if !m.add(d) {
				t.Fatal("it runs already")
			}
			return d
		}
		if err := one.follow(account, text(60_000)); err != nil || held(account, accounts.Bodies) != 0 {
			t.Errorf("a body is kept for no daemon: %v", err)
		}
		first := run(&one)
		run(&two)
		if err := one.follow(account, text(60_000)); err != nil {
			t.Fatal(err)
		}
		err := two.follow(account, text(60_000))
		if err == nil || !strings.Contains(err.Error(), "the limit BodyMemory of 100000 bytes is reached") || two.live.Load() != nil {
			t.Errorf("error %v", err)
		}
		if err := one.follow(account, text(120_000)); err == nil || len(*one.live.Load()) != 60_000 {
			t.Errorf("a body has grown beyond the limit: %v", err)
		}
		one.ended(first, false)
		if err := two.follow(account, text(60_000)); err != nil {
			t.Errorf("there is room again: %v", err)
		}
	})
}

// TestDaemonsBeyondTheLimit do not run; it is tried again after a minute.
func TestDaemonsBeyondTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resource := abi.Selector{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples"}
		registry, err := NewRegistry(instant{[]abi.Handler{{Kind: abi.KindDaemon, ID: "fn", Resource: &resource}}})
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

// TestDaemonsCountForTheirOperator: what they keep is in its account.
func TestDaemonsCountForTheirOperator(t *testing.T) {
	s := newStage(t, &scripted{}, `{"metadata":{"name":"x"}}`)
	s.cause.account = accounts.New(accounts.Limits{MemoLimit: 1000})
	for _, scope := range []int{0, 1} {
		if _, err := (&env{cause: newCause(s.cause.alone(), nil)}).MemoSet(scope, "k", text(1000), -1); !errors.Is(err, accounts.ErrLimit) {
			t.Errorf("scope %d: %v", scope, err)
		}
	}
}

package webhooks_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/conns"
	"github.com/kopf-wasm/kopf/reactor/reviews"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/webhooks"
)

// announced is a server that only announces where it is.
type announced struct{ configs chan webhooks.ClientConfig }

func (s announced) Serve(ctx context.Context, _ http.Handler, announce func(webhooks.ClientConfig)) error {
	for {
		select {
		case config := <-s.configs:
			announce(config)
		case <-ctx.Done():
			return nil
		}
	}
}

// serving runs one operator of a shared server until the returned function is called.
func serving(t *testing.T, shared *webhooks.Shared, path string, handler http.Handler) (stop func(), urls func() []string) {
	t.Helper()
	var mu sync.Mutex // guards seen
	var seen []string
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { // Waited for by stop.
		ended <- shared.Part(path).Serve(ctx, handler, func(config webhooks.ClientConfig) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, *config.For("fn").URL)
		})
	}()
	synctest.Wait()
	stop = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	return stop, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(seen)
	}
}

func answered(shared *webhooks.Shared, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	shared.ServeHTTP(w, post(path, review))
	return w
}

// TestOperatorsShareAServer: each has a path, and learns of all announcements. What has no
// operator is not found.
func TestOperatorsShareAServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := announced{make(chan webhooks.ClientConfig)}
		shared := webhooks.NewShared(server, webhooks.Environment{Log: zerolog.Nop()})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = shared.Run(ctx) }() // It ends with the bubble.
		path := func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("a" + r.URL.Path)) }
		stop, urls := serving(t, shared, "/operators/ns/a", http.HandlerFunc(path))
		target := "https://host:1/root/"
		server.configs <- webhooks.ClientConfig{URL: &target}
		synctest.Wait()
		stopOther, others := serving(t, shared, "/clusteroperators/a", http.NotFoundHandler())
		if got := append(urls(), others()...); !slices.Equal(got, []string{"https://host:1/root/operators/ns/a/fn", "https://host:1/root/clusteroperators/a/fn"}) {
			t.Errorf("announced %q", got)
		}
		if err := shared.Part("/operators/ns/a").Serve(ctx, nil, nil); err == nil {
			t.Error("two operators serve at one path")
		}
		for path, want := range map[string]string{
			"/operators/ns/a/fn": "200 a/fn", "/operators/ns/a/fn/sub": "200 a/fn/sub", "/operators/ns/b/fn": "404 404: no operator", "/operators/ns/ab/fn": "404 404: no operator",
			"/operators/ns/a": "404 404: no operator", "/fn": "404 404: no operator", "/": "404 404: no operator",
		} {
			if w := answered(shared, path); !strings.HasPrefix(fmt.Sprint(w.Code, " ", w.Body), want) {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
		}
		stop()
		stopOther()
		if w := answered(shared, "/operators/ns/a/fn"); w.Code != http.StatusNotFound {
			t.Errorf("after its end: %d", w.Code)
		}
	})
}

// TestReviewsOfOneOperatorAreBounded: of those that wait, the oldest is refused at once, and
// another operator does not notice.
func TestReviewsOfOneOperatorAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := webhooks.NewShared(announced{}, webhooks.Environment{Log: zerolog.Nop()})
		release := make(chan struct{})
		slow := &fakeOperator{decide: func(context.Context, *reviews.Incoming) (*reviews.Verdict, error) {
			<-release
			return &reviews.Verdict{}, nil
		}}
		handlers := []*webhooks.Handler{webhooks.NewHandler(slow, webhooks.Limits{Concurrent: 2, Waiting: 10}, zerolog.Nop()), webhooks.NewHandler(&fakeOperator{}, webhooks.Limits{Concurrent: 2}, zerolog.Nop())}
		stop, _ := serving(t, shared, "/operators/ns/slow", handlers[0])
		stopOther, _ := serving(t, shared, "/operators/ns/other", handlers[1])
		var all sync.WaitGroup
		codes := make(chan int, 13)
		for range cap(codes) {
			all.Go(func() { codes <- answered(shared, "/operators/ns/slow/fn").Code })
		}
		synctest.Wait()
		if len(codes) != 1 || <-codes != http.StatusInternalServerError {
			t.Errorf("%d more have answers before the first ones", len(codes))
		}
		if w := answered(shared, "/operators/ns/other/fn"); w.Code != http.StatusOK {
			t.Errorf("another operator: %d %s", w.Code, w.Body)
		}
		close(release)
		all.Wait()
		if w := answered(shared, "/operators/ns/slow/fn"); w.Code != http.StatusOK {
			t.Errorf("afterwards: %d %s", w.Code, w.Body)
		}
		stop()
		stopOther()
		handlers[0].Wait()
		handlers[1].Wait()
	})
}

// TestRequestsOfANamespaceAreBounded: the API server, which is one client, has half of the connections. Slow handlers of one namespace
// occupy a part of these.
func TestRequestsOfANamespaceAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := webhooks.NewShared(announced{}, webhooks.Environment{Log: zerolog.Nop(), Connections: conns.Limits{Total: 8}}) // 2 for a namespace
		release := make(chan struct{})
		slow := &fakeOperator{decide: func(context.Context, *reviews.Incoming) (*reviews.Verdict, error) {
			<-release
			return &reviews.Verdict{}, nil
		}}
		var handlers []*webhooks.Handler
		var stops []func()
		for path, operator := range map[string]*fakeOperator{"/operators/greedy/one": slow, "/operators/greedy/two": slow, "/operators/other/one": {}} {
			handler := webhooks.NewHandler(operator, webhooks.Limits{}, zerolog.Nop())
			stop, _ := serving(t, shared, path, handler)
			handlers, stops = append(handlers, handler), append(stops, stop)
		}
		var all sync.WaitGroup
		codes := make(chan int, 3)
		for _, name := range []string{"one", "two", "one"} {
			all.Go(func() { codes <- answered(shared, "/operators/greedy/"+name+"/fn").Code })
		}
		synctest.Wait()
		slow.mu.Lock()
		if n := len(slow.seen); n != 2 {
			t.Errorf("%d reviews of the namespace are handled", n)
		}
		slow.mu.Unlock()
		if w := answered(shared, "/operators/other/one/fn"); w.Code != http.StatusOK {
			t.Errorf("of another namespace: %d %s", w.Code, w.Body)
		}
		close(release)
		all.Wait()
		for range cap(codes) {
			if code := <-codes; code != http.StatusOK {
				t.Errorf("in the end: %d", code)
			}
		}
		for i, stop := range stops {
			stop()
			handlers[i].Wait()
		}
	})
}

// scopedOperator has one handler, and notes the configurations.
type scopedOperator struct {
	fakeOperator
	*recorder
}

func (*scopedOperator) Changed() <-chan struct{} { return nil }

func (o *scopedOperator) Served(key selectors.Key) (r selectors.Resource, ok bool) {
	for _, h := range o.Handlers() {
		for _, r := range h.Resources {
			if r.Key() == key {
				return r, true
			}
		}
	}
	return r, false
}

func (*scopedOperator) Handlers() []reviews.Handler {
	return []reviews.Handler{{ID: "fn", Spec: abi.Handler{ID: "fn", Kind: abi.KindValidate}, Resources: []selectors.Resource{
		{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Namespaced: true}, {Version: "v1", Plural: "nodes"},
	}}}
}

// serveScope serves the webhooks of an operator with a scope, in a bubble. They stop before their server does.
func serveScope(t *testing.T, op *scopedOperator, host *recorder, scope *webhooks.Scope, leader ...*lead) (shared *webhooks.Shared, stop func()) {
	t.Helper()
	server := announced{make(chan webhooks.ClientConfig)}
	shared = webhooks.NewShared(server, webhooks.Environment{Log: zerolog.Nop()})
	ctx, cancel := context.WithCancel(t.Context())
	reachable, end := context.WithCancel(context.WithoutCancel(ctx))
	var all sync.WaitGroup
	all.Go(func() { _ = shared.Run(reachable) })
	all.Go(func() {
		w := webhooks.Webhooks{Server: shared.Part("/operators/ns/a"), Managed: "a.example.com", Scope: scope, Registrar: host, Log: zerolog.Nop()}
		if len(leader) > 0 {
			w.Leader = leader[0]
		}
		if err := w.Run(ctx, op); err != nil {
			t.Error(err)
		}
	})
	target := "https://host"
	server.configs <- webhooks.ClientConfig{URL: &target}
	return shared, func() {
		cancel()
		time.Sleep(time.Minute) // of the bubble
		end()
		all.Wait()
	}
}

// TestAScopeLimitsWebhooks: in the configuration, and for requests that come in spite of it.
func TestAScopeLimitsWebhooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		op, host := &scopedOperator{recorder: &recorder{}}, &recorder{}
		shared, stop := serveScope(t, op, host, &webhooks.Scope{Namespaces: []string{"ns"}})
		synctest.Wait()
		configured := strings.Join(host.patches(), "\n")
		for _, text := range []string{
			`"namespaceSelector":{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"In","values":["ns"]}]}`, `"scope":"Namespaced"`, `"resources":["kopfexamples"]`,
		} {
			if !strings.Contains(configured, text) {
				t.Errorf("%s is missing: %s", text, configured)
			}
		}
		if strings.Contains(configured, "nodes") || len(op.patches()) > 0 {
			t.Errorf("configured %s, and by the operator %q", configured, op.patches())
		}
		with := func(namespace, inside, resource string) string {
			return strings.NewReplacer(`"operation"`, `"namespace":`+namespace+`,"operation"`, `{"name":"x"}`, `{"name":"x","namespace":`+inside+`}`, "kopfexamples", resource).Replace(review)
		}
		for body, want := range map[string]int{
			with(`"ns"`, `"ns"`, "kopfexamples"): 200, with(`"ns"`, `""`, "kopfexamples"): 200, review: 403,
			with(`"other"`, `"other"`, "kopfexamples"): 403, with(`"ns"`, `"other"`, "kopfexamples"): 403, with(`"ns"`, `"ns"`, "nodes"): 403, with(`5`, `"ns"`, "kopfexamples"): 403,
		} {
			before := len(op.seen)
			w := httptest.NewRecorder()
			shared.ServeHTTP(w, post("/operators/ns/a/fn", body))
			if w.Code != want || (len(op.seen) > before) != (want == 200) {
				t.Errorf("%s: %d %s", body, w.Code, w.Body)
			}
		}
		stop()
	})
}

// TestOnlyTheLeaderConfiguresWebhooks: a replica that stands by answers requests, and writes nothing until it leads. Webhooks of
// replicas stay when one of them ends.
func TestOnlyTheLeaderConfiguresWebhooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		op, host, leader, places := &scopedOperator{recorder: &recorder{}}, &recorder{}, newLead(), &territory{names: []string{"ns"}, changed: make(chan struct{}, 1)}
		shared, stop := serveScope(t, op, host, &webhooks.Scope{Territory: places}, leader)
		synctest.Wait()
		places.set("ns", "other")
		synctest.Wait()
		w := httptest.NewRecorder()
		shared.ServeHTTP(w, post("/operators/ns/a/fn", strings.NewReplacer(`"operation"`, `"namespace":"ns","operation"`).Replace(review)))
		if w.Code != http.StatusOK || len(host.patches()) > 0 {
			t.Errorf("before it leads: %d %s, configured %q", w.Code, w.Body, host.patches())
		}
		close(leader.led)
		synctest.Wait()
		if got := host.patches(); len(got) != 2 || !strings.Contains(got[0], `"values":["ns","other"]`) {
			t.Errorf("the leader has configured %q", got)
		}
		stop()
		if got := host.patches(); len(got) != 2 {
			t.Errorf("at the end, it has configured %q", got[2:])
		}
	})
}

var errLost = errors.New("not the leader any more")

// lead is what a replica of a test knows of the leader.
type lead struct {
	led  chan struct{}
	lost atomic.Bool
}

func newLead() *lead { return &lead{led: make(chan struct{})} }

func (l *lead) Led() <-chan struct{} { return l.led }

func (l *lead) HoldLead() (until time.Time, err error) {
	if l.lost.Load() {
		return time.Time{}, errLost
	}
	return time.Now().Add(time.Minute), nil
}

// converting is an operator with a handler for conversion, which writes the definition itself.
type converting struct{ scopedOperator }

func (*converting) Handlers() []reviews.Handler {
	return []reviews.Handler{{ID: "fn", Spec: abi.Handler{ID: "fn", Kind: abi.KindConvert}, Resources: []selectors.Resource{{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples"}}}}
}

// TestFormerLeadersWriteNothing: neither configurations nor conversions. A new leader may have written newer ones.
func TestFormerLeadersWriteNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		op, host, leader := &converting{scopedOperator{recorder: &recorder{}}}, &recorder{}, newLead()
		server := announced{make(chan webhooks.ClientConfig)}
		ended := make(chan error, 1)
		go func() { // Waited for below.
			w := webhooks.Webhooks{Server: server, Managed: "a.example.com", Registrar: host, Leader: leader, Log: zerolog.Nop()}
			ended <- w.Run(t.Context(), op)
		}()
		announce := func(url string) (definitions, configurations int) {
			server.configs <- webhooks.ClientConfig{URL: &url}
			synctest.Wait()
			return len(op.patches()), len(host.patches())
		}
		if d, c := announce("https://a"); d+c > 0 {
			t.Errorf("before it leads: %d definitions, %d configurations", d, c)
		}
		close(leader.led)
		if d, c := announce("https://b"); d == 0 || c == 0 {
			t.Errorf("the leader: %q, %q", op.patches(), host.patches())
		}
		before := [2]int{len(op.patches()), len(host.patches())}
		leader.lost.Store(true)
		if d, c := announce("https://c"); before != [2]int{d, c} {
			t.Errorf("the former leader: %q, %q", op.patches(), host.patches())
		}
		if err := <-ended; !errors.Is(err, errLost) {
			t.Errorf("it ends with %v", err)
		}
	})
}

// territory are namespaces of a test.
type territory struct {
	mu      sync.Mutex // guards all below
	names   []string
	changed chan struct{}
}

func (p *territory) Names() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.names
}

func (p *territory) set(names ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.names = names
	p.changed <- struct{}{}
}

func (p *territory) Follow(ctx context.Context, serve func([]string)) error {
	for {
		serve(p.Names())
		select {
		case <-p.changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// TestConfigurationsFollowTheirTerritory: without namespaces there are no webhooks. Requests about a
// namespace that has left are accepted until API servers know it.
func TestConfigurationsFollowTheirTerritory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		op, host, places := &scopedOperator{recorder: &recorder{}}, &recorder{}, &territory{changed: make(chan struct{}, 1)}
		shared, stop := serveScope(t, op, host, &webhooks.Scope{Territory: places})
		asked := func(namespace string) int {
			body := strings.NewReplacer(`"operation"`, `"namespace":"`+namespace+`","operation"`).Replace(review)
			w := httptest.NewRecorder()
			shared.ServeHTTP(w, post("/operators/ns/a/fn", body))
			return w.Code
		}
		says := func(want string, patches int) {
			t.Helper()
			synctest.Wait()
			if got := host.patches(); len(got) != patches || !strings.Contains(got[len(got)-2], want) { // the last one is about mutating webhooks
				t.Errorf("configured %q, want %d, and %s", got, patches, want)
			}
		}
		says(`{"webhooks":[]}`, 2)
		if code := asked("a"); code != 403 {
			t.Errorf("before there are namespaces: %d", code)
		}
		places.set("a", "b")
		says(`"values":["a","b"]`, 4)
		places.set("a", "b") // nothing has changed
		says(`"values":["a","b"]`, 4)
		places.set("b")
		says(`"values":["b"]`, 6)
		if a, b := asked("a"), asked("b"); a != 200 || b != 200 {
			t.Errorf("just after the namespace a has left: %d, %d", a, b)
		}
		time.Sleep(time.Minute)
		if a, b := asked("a"), asked("b"); a != 403 || b != 200 {
			t.Errorf("a minute later: %d, %d", a, b)
		}
		stop()
		if got := host.patches(); len(got) != 8 {
			t.Errorf("configured %q", got)
		}
	})
}

// recorder notes patches as an API server.
type recorder struct {
	mu  sync.Mutex // guards got
	got []string
}

func (*recorder) Get(context.Context, apipath.Path) ([]byte, error) { return nil, nil }

func (*recorder) Create(context.Context, apipath.Path, []byte) error { return nil }

func (r *recorder) Patch(_ context.Context, _ apipath.Path, patch []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, string(patch))
	return nil
}

// patches returns the patches so far.
func (r *recorder) patches() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

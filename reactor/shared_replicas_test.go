package reactor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/operator/apiserver"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/leadership"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// book is what all replicas write down about their handlers.
type book struct {
	mu       sync.Mutex                // guards the fields below
	running  map[string]map[string]int // how many handlers run, by objects and replicas
	done     map[string]int            // handlers of changes that have ended, by objects and values of spec.field
	overlaps []string
}

func (b *book) begin(object, replica string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running[object] == nil {
		b.running[object] = map[string]int{}
	}
	b.running[object][replica]++
	if len(b.running[object]) > 1 {
		b.overlaps = append(b.overlaps, fmt.Sprint(object, " in ", b.running[object]))
	}
}

func (b *book) end(object, replica string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running[object][replica]--; b.running[object][replica] == 0 {
		delete(b.running[object], replica)
	}
}

func (b *book) conclude(object, field string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done[object+" "+field]++
}

// busy returns in how many objects handlers of a replica run.
func (b *book) busy(replica string) (count int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, by := range b.running {
		count += by[replica]
	}
	return count
}

// clerk is a guest with a daemon, which runs until it is stopped, and handlers of changes, which take a second. It writes down
// all of them.
type clerk struct {
	*book
	replica string
}

func (c *clerk) Name() string { return "clerk" }

func (c *clerk) Registration() *abi.Registration {
	resource := &abi.Selector{Group: "example.com", Plural: "shops"}
	return &abi.Registration{Handlers: []abi.Handler{
		{Kind: abi.KindCreate, ID: "created", Resource: resource},
		{Kind: abi.KindUpdate, ID: "updated", Resource: resource},
		{Kind: abi.KindDaemon, ID: "daemon", Resource: resource},
		{Kind: abi.KindIndex, ID: "index", Resource: resource},
	}}
}

func (c *clerk) Ask(context.Context, *abi.Questions, []byte, guests.Env) (*abi.Answers, error) {
	return &abi.Answers{}, nil
}

func (c *clerk) Start(_ context.Context, inv *abi.Invocation, raw []byte, _ guests.Env) (guests.Task, *abi.Step, error) {
	body, err := dicts.DecodeObject(raw)
	if err != nil {
		return nil, nil, err
	}
	task := &task{clerk: c, object: dicts.LookupString(body, "metadata", "name"), field: dicts.LookupString(body, "spec", "field"), kind: inv.ID}
	if inv.ID == "index" {
		return task, &abi.Step{Step: abi.StepDone, Outcome: abi.Outcome{Result: abi.Raw(`"x"`)}}, nil
	}
	c.begin(task.object, c.replica)
	task.ends = sync.OnceFunc(func() { c.end(task.object, c.replica) })
	if inv.ID == "daemon" {
		return task, &abi.Step{Step: abi.StepWait, Stoppable: true}, nil
	}
	second := 1.0
	return task, &abi.Step{Step: abi.StepWait, Seconds: &second}, nil
}

type task struct {
	guests.Task
	clerk               *clerk
	object, field, kind string
	ends                func()
}

func (t *task) Resume(context.Context, abi.Answer) (*abi.Step, error) {
	if t.kind == "daemon" {
		time.Sleep(3 * time.Second) // it ends slowly
	} else {
		t.clerk.conclude(t.object, t.field)
	}
	t.ends()
	return &abi.Step{Step: abi.StepDone, Outcome: abi.Outcome{Patch: abi.Raw(`{"status":{"` + t.kind + `":"` + t.clerk.replica + `"}}`)}}, nil
}

func (t *task) Cancel(context.Context) error { return nil }

func (t *task) Release(context.Context) {
	if t.ends != nil {
		t.ends()
	}
}

// wire is the connection of a replica. Its watches are late.
type wire struct {
	http.RoundTripper
	delay time.Duration // of watches, at most
	cut   atomic.Bool
}

var errCut = errors.New("the connection is cut")

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.cut.Load() {
		time.Sleep(time.Second)
		return nil, errCut
	}
	time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
	rsp, err := w.RoundTripper.RoundTrip(r)
	if err == nil && r.URL.Query().Get("watch") != "" {
		rsp.Body = newLate(rsp.Body, w.delay)
	}
	return rsp, err
}

// late is a body whose parts arrive late.
type late struct {
	io.ReadCloser
	parts chan chunk
	rest  []byte
}

// chunk is a part of a late body.
type chunk struct {
	data []byte
	due  time.Time
	err  error
}

func newLate(body io.ReadCloser, delay time.Duration) *late {
	l := &late{ReadCloser: body, parts: make(chan chunk, 1000)}
	go func() { // It ends with the body.
		for {
			data := make([]byte, 16<<10)
			n, err := body.Read(data)
			l.parts <- chunk{data[:n], time.Now().Add(rand.N(delay)), err}
			if err != nil {
				return
			}
		}
	}()
	return l
}

func (l *late) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		next := <-l.parts
		if time.Sleep(time.Until(next.due)); next.err != nil {
			return 0, next.err
		}
		l.rest = next.data
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// fleet is a number of replicas on one server.
type fleet struct {
	*book
	t      *testing.T
	server *apiserver.Server
	terms  leadership.Terms
}

// member is a replica of a fleet.
type member struct {
	*Operator
	*wire
	name string
	stop context.CancelFunc
	end  chan error
}

func (f *fleet) join(name string, delay time.Duration) *member {
	f.t.Helper()
	registry, err := registries.New(&clerk{f.book, name})
	if err != nil {
		f.t.Fatal(err)
	}
	m := &member{wire: &wire{RoundTripper: f.server, delay: delay}, name: name, end: make(chan error, 1)}
	info := credentials.Info{Config: &rest.Config{Host: "http://server", Transport: m.wire}}
	s := settings.Default()
	s.Posting.Enabled, s.Persistence.ConsistencyTimeout = false, time.Minute // longer than the watches are late
	m.Operator, err = New(Options{
		Registry: registry, Settings: s, Identity: name, Lease: &Lease{Name: "op", Namespace: "default", Terms: f.terms, Shared: true}, Log: zerolog.New(io.Discard),
		Logins: []credentials.HostLogin{{Name: "test", Get: func(context.Context) (*credentials.Info, error) { return &info, nil }}},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(f.t.Context())
	m.stop = stop
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.end <- m.Run(ctx)
	}()
	f.t.Cleanup(func() { stop(); <-ended })
	return m
}

// put creates or changes an object.
func (f *fleet) put(name, field string) {
	f.t.Helper()
	object := dicts.Object{"apiVersion": "example.com/v1", "kind": "Shop", "metadata": dicts.Object{"name": name, "namespace": "default"}, "spec": dicts.Object{"field": field}}
	if err := f.server.Apply(f.t.Context(), object); err != nil {
		f.t.Fatal(err)
	}
}

// settle waits until some replicas share all objects, and each object has its daemon in one of them.
func (f *fleet) settle(objects int, members ...*member) {
	f.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Second) {
		held, agreed := 0, true
		for _, m := range members {
			share := m.share()
			if share == nil || share.Members != len(members) || f.busy(m.name) != share.Objects {
				agreed = false
			} else {
				held += share.Objects
			}
		}
		if agreed && held == objects {
			return
		}
		if time.Now().After(deadline) {
			for _, m := range members {
				f.t.Logf("%s: %+v, %d handlers", m.name, m.share(), f.busy(m.name))
			}
			f.t.Fatalf("%d of %d objects are held", held, objects)
		}
	}
}

// TestReplicasShareObjectsOnLateWatches: replicas come, go, and lose their connection, while objects are created and changed. Each
// change is handled once, and no object is handled by two at once.
func TestReplicasShareObjectsOnLateWatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		terms, err := leadership.TermsOf(leadership.DefaultDuration)
		if err != nil {
			t.Fatal(err)
		}
		shop := apiserver.Resource{Group: "example.com", Version: "v1", Plural: "shops", Kind: "Shop", Singular: "shop", Namespaced: true, Preferred: true, Verbs: []string{"list", "watch", "patch"}}
		f := &fleet{book: &book{running: map[string]map[string]int{}, done: map[string]int{}}, t: t, server: apiserver.New([]apiserver.Resource{shop}), terms: terms}
		const objects, prompt, tardy = 40, time.Second, 15 * time.Second
		names := make([]string, objects)
		for i := range names {
			names[i] = fmt.Sprint("shop-", i)
		}
		for _, name := range names[:20] {
			f.put(name, "0")
		}
		a, b := f.join("a", prompt), f.join("b", prompt)
		f.settle(20, a, b)
		for _, name := range names[20:] {
			f.put(name, "0")
		}
		c := f.join("c", tardy) // while new objects arrive
		f.settle(objects, a, b, c)
		time.Sleep(time.Minute) // otherwise late creations are merged with the first change
		changes := 0
		// change changes all objects within some seconds.
		change := func() {
			changes++
			for _, name := range names {
				f.put(name, fmt.Sprint(changes))
				time.Sleep(200 * time.Millisecond)
			}
		}
		change()
		time.Sleep(2 * time.Second)
		a.stop() // the first one, which is the leader; its last patches have not reached the other ones
		change()
		if err := <-a.end; err != nil {
			t.Errorf("the stopped replica ends with %v", err)
		}
		f.settle(objects, b, c)
		d := f.join("d", tardy)
		change()
		f.settle(objects, b, c, d)
		time.Sleep(time.Minute) // a handler whose replica is lost before the patch is called again
		b.cut.Store(true)
		if err := <-b.end; !errors.Is(err, ErrLeaseLost) {
			t.Errorf("the replica without a connection ends with %v", err)
		}
		f.settle(objects, c, d)
		e := f.join("e", prompt)
		f.settle(objects, c, d, e)
		change()
		time.Sleep(2 * time.Second)
		e.stop()
		if err := <-e.end; err != nil {
			t.Errorf("the last replica ends with %v", err)
		}
		f.settle(objects, c, d)
		time.Sleep(time.Minute)
		for _, m := range []*member{c, d} {
			if indexed := m.Counts().Indexed; indexed != objects {
				t.Errorf("%s has indexed %d objects", m.name, indexed)
			}
			m.stop()
			if err := <-m.end; err != nil {
				t.Errorf("%s ends with %v", m.name, err)
			}
		}
		f.check(names, changes)
	})
}

func (f *fleet) check(names []string, changes int) {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, overlap := range f.overlaps {
		f.t.Error("at once: ", overlap)
	}
	for _, name := range names {
		for _, field := range []int{0, changes} { // others may be merged
			if times := f.done[fmt.Sprint(name, " ", field)]; times != 1 {
				f.t.Errorf("the change %d of %s was handled %d times", field, name, times)
			}
		}
	}
	for _, what := range slices.Sorted(maps.Keys(f.done)) {
		if f.done[what] > 1 {
			f.t.Errorf("%s was handled %d times", what, f.done[what])
		}
	}
}

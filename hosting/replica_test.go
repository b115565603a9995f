package hosting

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/replicas"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/apiserver"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/membership"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// connected are all the one account that the small API server has.
type connected struct {
	identities
	info *credentials.Info
}

func (a connected) Login(Account) func(context.Context) (*credentials.Info, error) {
	return func(context.Context) (*credentials.Info, error) { return a.info, nil }
}

// twin is one of several hosts.
type twin struct {
	*Host
	*reactortest.Wire
	replica *replicas.Replica
	name    string
	stop    context.CancelFunc
	end     chan error
}

// town is a cluster with hosts.
type town struct {
	*reactortest.Calls
	t      *testing.T
	server *apiserver.Server

	shared bool                                                    // the hosts share the objects
	fetch  func(ctx context.Context, d *Declaration) error         // nil: nothing is to be fetched
	alter  func(o operator.Options, r *reactortest.Recorder) error // changes an operator, or fails to load it; nil: nothing

	mu      sync.Mutex          // guards the fields below
	loaded  map[string]int      // operators, by hosts
	reports map[string][]string // "name: reason of Ready, host", by the hosts that reported
	present map[Key]Declaration
	feeds   map[string]*feed // by hosts
}

func newTown(t *testing.T) *town {
	t.Helper()
	shop := apiserver.Resource{Group: "example.com", Version: "v1", Plural: "shops", Kind: "Shop", Singular: "shop", Namespaced: true, Preferred: true, Verbs: []string{"list", "watch", "patch"}}
	return &town{Calls: reactortest.NewCalls(), t: t, server: apiserver.New([]apiserver.Resource{shop}), loaded: map[string]int{}, reports: map[string][]string{}, present: map[Key]Declaration{}, feeds: map[string]*feed{}}
}

func (w *town) note(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// host starts a host that has declarations.
func (w *town) host(name string, declared ...Declaration) *twin {
	w.t.Helper()
	t := &twin{Wire: &reactortest.Wire{RoundTripper: w.server}, name: name, end: make(chan error, 1)}
	config := &rest.Config{Host: "http://" + name + "." + strings.ReplaceAll(w.t.Name(), "/", "."), Transport: t.Wire} // another cluster, as far as the claims of this process know
	var err error
	if t.replica, err = replicas.New(w.t.Context(), replicas.Options{Config: config, Identity: name, Shared: w.shared}); err != nil {
		w.t.Fatal(err)
	}
	base := operator.Options{Settings: settings.Default(), Simulated: true}
	base.Settings.Posting.Enabled = false
	t.Host = New(Options{
		Identities: connected{info: &credentials.Info{Config: config}}, Base: base, Log: zerolog.New(io.Discard), Replica: t.replica,
		Fetch: func(ctx context.Context, d *Declaration, _ []map[string][]byte) (*Fetched, error) {
			if w.fetch != nil {
				if err := w.fetch(ctx, d); err != nil {
					return nil, err
				}
			}
			return &Fetched{Name: "m", Artifact: "m"}, nil
		},
		create: func(ctx context.Context, o operator.Options) (instance, error) {
			w.note(func() { w.loaded[name]++ })
			recorder := &reactortest.Recorder{Calls: w.Calls, Replica: name}
			if w.shared {
				recorder.Replica, recorder.Stopping = name+": "+o.Name, 3*time.Second
			}
			if w.alter != nil {
				if err := w.alter(o, recorder); err != nil {
					return nil, err
				}
			}
			o.Modules, o.Guests = nil, []guests.Guest{recorder}
			return operator.New(ctx, o)
		},
		Report: func(key Key, s *api.Status) {
			text := key.Name + ": gone"
			if s != nil {
				text = fmt.Sprintf("%s: %s, %t", key.Name, s.Find(api.Ready).Reason, s.Host == t.replica.Name())
			}
			w.note(func() { w.reports[name] = append(w.reports[name], text) })
			w.stored(key, s)
		},
	})
	for _, d := range declared {
		t.Declare(d)
	}
	w.follow(t)
	ctx, stop := context.WithCancel(w.t.Context())
	t.stop = stop
	ended := make(chan struct{})
	go func() { // Waited for by the clean-up.
		defer close(ended)
		t.end <- t.Run(ctx)
	}()
	w.t.Cleanup(func() { stop(); <-ended })
	return t
}

func (w *town) put(name, field string) {
	w.t.Helper()
	object := dicts.Object{"apiVersion": "example.com/v1", "kind": "Shop", "metadata": dicts.Object{"name": name, "namespace": "default"}, "spec": dicts.Object{"field": field}}
	if err := w.server.Apply(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
}

// reported reports whether a host has reported a text; with an empty one, whether it has reported anything.
func (w *town) reported(host, text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return text == "" && len(w.reports[host]) > 0 || slices.Contains(w.reports[host], text)
}

// until waits for a condition.
func (w *town) until(what string, fulfilled func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !fulfilled(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("waiting for %s: done %v, at once %v", what, w.Done(), w.Overlaps())
		}
	}
}

// handled waits until a change of an object is handled.
func (w *town) handled(name, field string) {
	w.t.Helper()
	w.until(name+" "+field, func() bool { return w.Done()[name+" "+field] > 0 })
}

var shops = Declaration{Key: Key{Kind: api.Namespaced, Namespace: "default", Name: "shops"}, UID: "u", Generation: 1, Spec: api.Spec{Module: "m", ServiceAccountName: "sa"}}

// TestOneHostRunsTheOperators: the leader of three hosts is stopped, and the next one loses its connection. Each change is handled
// by one host, and never by two at once; only the leader reports; those that stand by have loaded the operator before.
func TestOneHostRunsTheOperators(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t)
		w.put("a", "0")
		twins := []*twin{w.host("one", shops), w.host("two", shops), w.host("three", shops)}
		leader := func() *twin {
			t.Helper()
			var found *twin
			w.until("a leader", func() bool {
				i := slices.IndexFunc(twins, func(h *twin) bool { return h.Replicas().Leads && w.Running(h.name, "a") })
				if i >= 0 {
					found = twins[i]
				}
				return i >= 0
			})
			twins = slices.DeleteFunc(slices.Clone(twins), func(h *twin) bool { return h == found })
			return found
		}
		first := leader()
		w.handled("a", "0")
		for _, h := range twins {
			w.until("a host that stands by has loaded the operator", func() bool { return h.Status(shops.Key).Is(api.Ready) })
			if f := h.Facts()[0]; !f.Standby || f.Host != first.replica.Name() || w.reported(h.name, "") {
				t.Errorf("%s stands by: %+v, and has reported: %v", h.name, f, w.reported(h.name, ""))
			}
		}
		if f := first.Facts()[0]; f.Standby || f.Host != first.replica.Name() || !w.reported(first.name, "shops: Serving, true") {
			t.Errorf("the leader: %+v", f)
		}
		first.stop()
		began := time.Now()
		w.put("a", "1")
		if err := <-first.end; err != nil {
			t.Errorf("the stopped leader ends with %v", err)
		}
		second := leader()
		if took := time.Since(began); took > 5*time.Second { // the Lease lasts for 15
			t.Errorf("after %v, another host leads", took)
		}
		w.handled("a", "1")
		w.until("a report of the new leader", func() bool { return w.reported(second.name, "shops: Serving, true") })

		second.Cut.Store(true)
		w.put("a", "2")
		if err := <-second.end; !errors.Is(err, operator.ErrLeaseLost) {
			t.Errorf("the leader without a connection ends with %v", err)
		}
		third := leader()
		w.handled("a", "2")
		w.mu.Lock()
		defer w.mu.Unlock()
		if overlaps := w.Overlaps(); len(overlaps) > 0 || w.loaded[third.name] != 1 {
			t.Errorf("at once: %v; loaded: %v", overlaps, w.loaded)
		}
		for change, times := range w.Done() {
			if times != 1 {
				t.Errorf("%s is handled %d times", change, times)
			}
		}
	})
}

// fixedReplica is a Replica of a test, which leads and loses when the test says so.
type fixedReplica struct {
	led, lost  context.Context
	lead, lose context.CancelFunc
	released   atomic.Bool
}

func newFixedReplica(ctx context.Context) *fixedReplica {
	s := new(fixedReplica)
	s.led, s.lead = context.WithCancel(context.WithoutCancel(ctx))
	s.lost, s.lose = context.WithCancel(context.WithoutCancel(ctx))
	return s
}

func (s *fixedReplica) Led() context.Context  { return s.led }
func (s *fixedReplica) Lost() context.Context { return s.lost }
func (*fixedReplica) Name() string            { return "me" }
func (*fixedReplica) Duration() time.Duration { return operator.DefaultLeaseDuration }
func (s *fixedReplica) Release(context.Context) {
	s.released.Store(true)
}

func (s *fixedReplica) Standing() (leader string, leads bool) { return "", s.led.Err() != nil }

func (s *fixedReplica) Hold() (until time.Time, err error) {
	if s.led.Err() == nil || s.lost.Err() != nil {
		return time.Time{}, operator.ErrLeaseLost
	}
	return time.Now().Add(time.Minute), nil
}

func (s *fixedReplica) HoldLead() (until time.Time, err error) { return s.Hold() }
func (*fixedReplica) Group() *membership.Group                 { return nil }
func (*fixedReplica) Dismiss(string) bool                      { return false }
func (*fixedReplica) Forget(string)                            {}
func (*fixedReplica) Answer(string)                            {}

func (s *fixedReplica) Run(ctx context.Context, _ func([]string)) error {
	select {
	case <-s.lost.Done():
		return operator.ErrLeaseLost
	case <-ctx.Done():
		return nil
	}
}

// TestAHostThatStandsByRemovesNothing: no finalizers, no webhook configurations, and no finalizer of a declaration. When it leads,
// it continues where the former leader has ended.
func TestAHostThatStandsByRemovesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		me, g := newFixedReplica(t.Context()), &gate{}
		x, c := leaving(t, me)
		x.options.Gateway = g
		for _, name := range []string{"released", "suspended", "gone", "without", "stays"} {
			began := time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
			x.Declare(Declaration{Key: key(name), UID: "u", Generation: 1, Spec: api.Spec{Module: "v1", ServiceAccountName: "sa", OnRemoval: &api.OnRemoval{Finalizers: api.Release}}, Reported: &api.Status{
				Webhooks: 1, Resources: []string{"things"}, Finalizer: "kopf", Conditions: []api.Condition{{Type: api.Ready, Status: api.True, Reason: "Serving", LastTransitionTime: began}},
			}})
			synctest.Wait()
		}
		x.declared("suspended", 2, func(s *api.Spec) { s.Suspend = true })
		x.deleted(Declaration{Key: key("released"), UID: "u", Generation: 1, Spec: api.Spec{Module: "v1", ServiceAccountName: "sa", OnRemoval: &api.OnRemoval{Finalizers: api.Release}}, Reported: &api.Status{
			Webhooks: 1, Resources: []string{"things"}, Finalizer: "kopf", Conditions: []api.Condition{{Type: api.Releasing, Status: api.True, Reason: "Deleted", LastTransitionTime: time.Now().Add(-time.Minute)}},
		}})
		x.Remove(key("gone"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(g.names()) > 0 || c.now().attempts > 0 || len(x.said()) > 0 || x.Status(key("gone")) != nil {
			t.Errorf("webhooks of %v are removed, finalizers %d times, reports %v", g.names(), c.now().attempts, x.said())
		}
		if f := x.Facts()[1]; !f.Standby || f.Name != "stays" || !f.Ready || f.Started == nil {
			t.Errorf("a loaded operator: %+v", f)
		}

		me.lead()
		time.Sleep(time.Minute)
		synctest.Wait()
		removed := g.names()
		slices.Sort(removed)
		if !slices.Equal(removed, []string{"released", "stays", "suspended", "without"}) || c.now().released != 1 { // no operator of the test has webhooks
			t.Errorf("the leader has removed webhooks of %v, and finalizers %+v", removed, c.now())
		}
		if s := x.Status(key("stays")); s.Host != "me" || time.Since(s.Find(api.Ready).LastTransitionTime) < time.Hour {
			t.Errorf("the time of the former leader is lost: %+v", s)
		}
		said := x.said()
		for _, want := range []string{"released: gone", "stays: Serving", "suspended: Suspended"} {
			if !slices.Contains(said, want) {
				t.Errorf("no report %q in %v", want, said)
			}
		}
		if slices.Contains(said, "gone: gone") {
			t.Errorf("a report about what another host has removed: %v", said)
		}
	})
}

// TestAHostThatLosesItsLeaseEnds: it reports nothing more, starts nothing again, and does not release what it does not have.
func TestAHostThatLosesItsLeaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		me := newFixedReplica(t.Context())
		x := hosted(t, operator.Options{}, me)
		me.lead()
		x.declared("a", 1, nil)
		x.has("a", api.Ready, api.True, "Serving", "")
		before := len(x.said())
		me.lose()
		x.all()[0].fails <- operator.ErrLeaseLost
		time.Sleep(time.Hour)
		synctest.Wait()
		if x.IsRunning() || len(x.all()) != 1 || len(x.said()) != before || me.released.Load() {
			t.Errorf("running: %t, operators: %d, reports: %v, released: %t", x.IsRunning(), len(x.all()), x.said(), me.released.Load())
		}
	})
}

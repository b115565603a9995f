package hosting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/places"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/reactor"
	"github.com/kopf-wasm/kopf/reactor/queueing"
)

// fake is an operator of a test. It is ready at once, and ends when it is stopped.
type fake struct {
	options   operator.Options
	module    string
	ready     chan struct{}
	stopped   chan struct{}
	stop      func()
	fails     chan error
	reload    func() error
	problems  atomic.Pointer[[]string]
	unserved  atomic.Pointer[[]string]
	unpatched atomic.Pointer[[]string]
	throttles atomic.Pointer[[]operator.Throttle]
	lingering time.Duration
	usage     operator.Usage
	unaware   atomic.Bool // of its resources
	webhooks  int
	replaced  int
	starting  func() error // after it is ready; nil: nothing
	ended     chan struct{}
}

func (f *fake) Start(_ context.Context, ended func(error)) {
	go func() { ended(f.run()) }() // The host waits for ended.
}

func (f *fake) run() error {
	defer close(f.ended)
	close(f.ready)
	if f.starting != nil {
		if err := f.starting(); err != nil {
			return err
		}
	}
	select {
	case err := <-f.fails:
		return err
	case <-f.stopped:
		time.Sleep(f.lingering)
		return nil
	}
}
func (f *fake) Stop()                       { f.stop() }
func (f *fake) Close(context.Context) error { return nil }
func (f *fake) Ready() <-chan struct{}      { return f.ready }
func (f *fake) Problems() (problems []string, refused bool) {
	if p := f.problems.Load(); p != nil {
		return *p, strings.Contains(strings.Join(*p, ""), "refused")
	}
	return nil, false
}

func (f *fake) Unserved() []string {
	if u := f.unserved.Load(); u != nil {
		return *u
	}
	return nil
}

func (f *fake) Unpatched() []string {
	if u := f.unpatched.Load(); u != nil {
		return *u
	}
	return nil
}

func (f *fake) Object(uid string) reactor.ObjectState {
	return reactor.ObjectState{Known: uid == "known", Queue: queueing.State{Waiting: 2, Working: true, Why: queueing.Throttled, Until: time.Unix(1, 0)}, Daemons: []string{"watch"}}
}

func (f *fake) Throttles() []operator.Throttle {
	if t := f.throttles.Load(); t != nil {
		return *t
	}
	return nil
}

func (f *fake) Facts() operator.Facts {
	if f.unaware.Load() {
		return operator.Facts{Digest: f.module, Handlers: 1, Finalizer: "kopf", Watches: f.webhooks == 0}
	}
	return operator.Facts{Digest: f.module, Handlers: 1, Resources: []string{"things"}, Finalizer: "kopf", Webhooks: f.webhooks, Watches: true}
}

func (f *fake) Usage() operator.Usage { return f.usage }
func (f *fake) Replaced() int         { return f.replaced }

func (f *fake) Reload(ctx context.Context) (bool, error) {
	_, module, err := f.options.Open(ctx, f.options.Modules[0])
	if err != nil {
		return false, err
	}
	f.options.Loaded()
	if err := f.reload(); err != nil {
		return false, err
	}
	f.module = string(module)
	return true, nil
}

// fixture is a host with fakes.
type fixture struct {
	*Host
	t *testing.T

	stop context.CancelFunc
	held atomic.Int64 // modules whose memory is not freed

	mu      sync.Mutex // guards all below
	made    []*fake
	reports []string // "name: reason of Ready"
	fetch   func(ctx context.Context, module string) error
	create  func(module string) error
	setUp   func(f *fake)
}

// hosted runs a host in the bubble of a test until its end.
func hosted(t *testing.T, base operator.Options, replica ...Replica) *fixture {
	t.Helper()
	x := &fixture{t: t}
	x.fetch = func(context.Context, string) error { return nil }
	x.create = func(string) error { return nil }
	x.setUp = func(*fake) {}
	x.Host = New(Options{
		Identities: identities{}, Base: base, Log: zerolog.New(zerolog.NewTestWriter(t)), GrantedSettings: []string{"networking.trust_env"},
		Fetch: func(ctx context.Context, d *Declaration, _ []map[string][]byte) (*Fetched, error) {
			if err := x.fetch(ctx, d.Spec.Module); err != nil {
				return nil, err
			}
			x.held.Add(1)
			return &Fetched{Name: "m", Artifact: d.Spec.Module + "@digest", Release: func() { x.held.Add(-1) }, Open: func(context.Context, string) (string, []byte, error) {
				return d.Spec.Module, []byte(d.Spec.Module), nil
			}}, nil
		},
		create: x.newFake,
		Report: func(key Key, s *api.Status) {
			x.mu.Lock()
			defer x.mu.Unlock()
			text := key.Name + ": gone"
			if s != nil {
				text = key.Name + ": " + s.Find(api.Ready).Reason
			}
			x.reports = append(x.reports, text)
		},
	})
	if len(replica) > 0 {
		x.options.Replica = replica[0]
	}
	var ctx context.Context
	ctx, x.stop = context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx) }() // Waited for by the clean-up.
	t.Cleanup(func() {
		x.stop()
		if err := <-done; err != nil && !errors.Is(err, operator.ErrLeaseLost) {
			t.Error(err)
		}
		if n := x.held.Load(); n != 0 {
			t.Errorf("the memory of %d modules is not freed after they were loaded", n)
		}
		for _, f := range x.all() {
			select {
			case <-f.ended:
			default:
				t.Error("an operator runs longer than its host")
			}
		}
	})
	return x
}

func (x *fixture) newFake(ctx context.Context, o operator.Options) (instance, error) {
	_, module, err := o.Open(ctx, o.Modules[0])
	if err == nil {
		x.mu.Lock()
		create := x.create
		x.mu.Unlock()
		err = create(string(module))
	}
	if err != nil {
		return nil, err
	}
	f := &fake{options: o, module: string(module), ready: make(chan struct{}), ended: make(chan struct{}), stopped: make(chan struct{}), fails: make(chan error, 1), reload: func() error { return nil }}
	f.stop = sync.OnceFunc(func() { close(f.stopped) })
	x.mu.Lock()
	defer x.mu.Unlock()
	x.setUp(f)
	x.made = append(x.made, f)
	return f, nil
}

func (x *fixture) all() []*fake {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.made)
}

func key(name string) Key { return Key{Kind: api.Namespaced, Namespace: "ns", Name: name} }

// declared declares an operator and waits until nothing happens any more.
func (x *fixture) declared(name string, generation int64, change func(*api.Spec)) Declaration {
	x.t.Helper()
	d := Declaration{Key: key(name), UID: "u", Generation: generation, Spec: api.Spec{Module: "v1", ServiceAccountName: "sa"}}
	if change != nil {
		change(&d.Spec)
	}
	x.Declare(d)
	synctest.Wait()
	return d
}

// has checks a condition.
func (x *fixture) has(name string, of api.ConditionType, status api.Truth, reason, text string) {
	x.t.Helper()
	c := x.Status(key(name)).Find(of)
	if c == nil || c.Status != status || c.Reason != reason || !strings.Contains(c.Message, text) {
		x.t.Errorf("%s: %s is %+v, want %s %s with %q", name, of, c, status, reason, text)
	}
}

// TestAnOperatorRunsForEachDeclaration: it is loaded, replaced while it runs, and stopped.
func TestAnOperatorRunsForEachDeclaration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		x.declared("a", 1, nil)
		x.declared("b", 1, nil)
		x.has("a", api.Ready, api.True, "Serving", "")
		if made := x.all(); len(made) != 2 || !slices.Equal(made[0].options.Namespaces, []string{"ns"}) || !made[0].options.NoLogins {
			t.Fatalf("made %+v", made)
		}
		x.declared("a", 1, nil)
		x.declared("a", 2, func(s *api.Spec) { s.Module = "v2" })
		if s := x.Status(key("a")); len(x.all()) != 2 || s.Digest != "v2" || s.Module != "v2@digest" || s.ObservedGeneration != 2 {
			t.Errorf("not replaced: %+v", s)
		}
		x.declared("a", 3, func(s *api.Spec) { s.Module, s.Grants = "v2", &api.Grants{Config: map[string]string{"k": "v"}} })
		made := x.all()
		if len(made) != 3 || made[2].options.Host.Config["k"] != "v" {
			t.Fatalf("not renewed: %d", len(made))
		}
		<-made[0].stopped
		x.Remove(key("a"))
		synctest.Wait()
		<-made[2].stopped
		if x.Status(key("a")) != nil || x.reports[len(x.reports)-1] != "a: gone" {
			t.Errorf("reports %v", x.reports)
		}
		x.has("b", api.Ready, api.True, "Serving", "")
	})
}

// TestABadVersionLeavesTheOldOneRunning: whatever is wrong, the status says it, and a good
// version takes over.
func TestABadVersionLeavesTheOldOneRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		x.declared("a", 1, nil)
		old := x.all()[0]
		old.reload = func() error { return errors.New("the startup handler fails") }
		x.declared("a", 2, func(s *api.Spec) { s.Module = "v2" })
		x.has("a", api.Degraded, api.True, "LoadFailed", "an earlier version continues, because the declared one failed: the startup handler fails")
		x.declared("a", 3, func(s *api.Spec) { s.Settings = map[string]json.RawMessage{"no.such": []byte("1")} })
		x.has("a", api.Accepted, api.False, "InvalidSpec", "spec.settings: ")
		x.Declare(Declaration{Key: key("a"), UID: "u", Generation: 4, Problem: errors.New(`unknown field "spec.modul"`)})
		synctest.Wait()
		x.has("a", api.Accepted, api.False, "InvalidSpec", `unknown field "spec.modul"`)
		select {
		case <-old.stopped:
			t.Error("the old one was stopped")
		default:
		}
		old.reload = func() error { return nil }
		x.declared("a", 5, func(s *api.Spec) { s.Module = "v3" })
		x.has("a", api.Ready, api.True, "Serving", "")
		x.has("a", api.Degraded, api.False, "Working", "")
		x.has("a", api.Accepted, api.True, "Valid", "")
	})
}

// TestASlowLoadDelaysNoOther: a registry that hangs holds up its own operator only, and a new
// version of it ends the wait.
func TestASlowLoadDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		x.fetch = func(ctx context.Context, module string) error {
			if module == "hanging" {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		for i := range 100 {
			x.declared(fmt.Sprint("slow", i), 1, func(s *api.Spec) { s.Module = "hanging" })
		}
		x.declared("b", 1, nil)
		x.has("b", api.Ready, api.True, "Serving", "")
		x.has("slow0", api.Ready, api.False, "Loading", "")
		x.declared("slow0", 2, nil)
		x.has("slow0", api.Ready, api.True, "Serving", "")
		x.Remove(key("slow1"))
		synctest.Wait()
		if x.Status(key("slow1")) != nil {
			t.Error("the hanging one is still there")
		}
	})
}

// TestFailuresAreRetried: the pauses double, up to a limit, and a success ends them.
func TestFailuresAreRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		var at []time.Duration
		began := time.Now()
		x.fetch = func(context.Context, string) error {
			at = append(at, time.Since(began))
			if len(at) < 12 {
				return errors.New("the registry is down")
			}
			return nil
		}
		x.declared("a", 1, nil)
		x.has("a", api.Resolved, api.False, "FetchFailed", "the registry is down")
		x.has("a", api.Ready, api.False, "FetchFailed", "attempt 2 follows after 1s")
		time.Sleep(time.Hour)
		x.has("a", api.Ready, api.True, "Serving", "")
		x.has("a", api.Resolved, api.True, "Fetched", "v1@digest")
		want := []time.Duration{0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 811, 1111}
		for i := range want {
			want[i] *= time.Second
		}
		if !slices.Equal(at, want) {
			t.Errorf("attempts at %v, want %v", at, want)
		}
	})
}

// TestCrashLoopsEndInQuarantine: an operator that ends by itself is started again, later and
// later, until a limit; a new generation starts it again.
func TestCrashLoopsEndInQuarantine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		x.setUp = func(f *fake) { f.fails <- errors.New("it computes nonsense") }
		x.declared("a", 1, nil)
		x.has("a", api.Ready, api.False, "Ended", "it computes nonsense")
		time.Sleep(10 * time.Hour)
		x.has("a", api.Quarantined, api.True, "CrashLoop", "has ended 8 times in a row")
		if n, restarts := len(x.all()), x.Status(key("a")).Restarts; n != maxCrashes || restarts != maxCrashes {
			t.Errorf("it was started %d times, and reports %d restarts", n, restarts)
		}
		x.mu.Lock()
		x.setUp = func(*fake) {}
		x.mu.Unlock()
		x.declared("a", 2, nil)
		x.has("a", api.Ready, api.True, "Serving", "")
		x.has("a", api.Quarantined, api.False, "None", "")
		if text, err := json.Marshal(x.Status(key("a"))); err != nil || !strings.Contains(string(text), `"restarts":0`) { // a column shows it
			t.Errorf("%s, %v", text, err)
		}
	})
}

// TestSuspension stops the operator and starts it again.
func TestSuspension(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		x.declared("a", 1, nil)
		x.declared("a", 2, func(s *api.Spec) { s.Suspend = true })
		<-x.all()[0].stopped
		x.has("a", api.Ready, api.False, "Suspended", "spec.suspend")
		x.declared("a", 3, nil)
		x.has("a", api.Ready, api.True, "Serving", "")
		if len(x.all()) != 2 {
			t.Errorf("%d operators", len(x.all()))
		}
	})
}

// TestAtMostOneRuns: an operator that takes long to stop is waited for.
func TestAtMostOneRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		x.setUp = func(f *fake) { f.lingering = time.Minute }
		x.declared("a", 1, nil)
		x.declared("a", 2, func(s *api.Spec) { s.Limits = map[string]string{"MaxIdle": "1"} })
		select {
		case <-x.all()[1].ready:
			t.Error("two run at the same time")
		default:
		}
		time.Sleep(2 * time.Minute)
		x.has("a", api.Ready, api.True, "Serving", "")
		if s := x.Status(key("a")); s.ObservedGeneration != 2 {
			t.Errorf("status %+v", s)
		}
	})
}

// TestRefusedSpecs: what a declaration asks for in addition to what the host permits.
func TestRefusedSpecs(t *testing.T) {
	tests := []struct {
		name   string
		change func(*api.Spec)
		of     api.ConditionType
		says   string
	}{
		{"a limit above the maximum", func(s *api.Spec) { s.Limits = map[string]string{"MaxMemory": "1Gi"} }, api.Accepted, "spec.limits: limit MaxMemory: 1Gi is above the maximum 32Mi of the host"},
		{"an unknown limit", func(s *api.Spec) { s.Limits = map[string]string{"Memory": "1Gi"} }, api.Accepted, "spec.limits: unknown limit Memory"},
		{"a setting of the class grant", func(s *api.Spec) {
			s.Settings = map[string]json.RawMessage{"admission.server": []byte(`{"type":"server"}`)}
		}, api.Accepted, "spec.settings: setting \"admission.server\" is of the class grant"},
		{"an exit without an end", func(s *api.Spec) {
			s.Settings = map[string]json.RawMessage{"process.ultimate_exiting_timeout": []byte("0")}
		}, api.Accepted, "spec.settings: setting \"process.ultimate_exiting_timeout\": no limit is above the maximum of the host: 600 seconds"},
		{"a granted setting that is not permitted", func(s *api.Spec) { s.Grants = &api.Grants{Settings: []string{"admission.server"}} }, api.Accepted, "spec.grants.settings[0]"},
		{"the host's machine", func(s *api.Spec) { s.Grants = &api.Grants{Kubernetes: []string{"nonsense"}} }, api.Accepted, "spec.grants.kubernetes[0]"},
		{"no host", func(s *api.Spec) { s.Grants = &api.Grants{Hosts: []string{"a/b"}} }, api.Accepted, "spec.grants.hosts[0]"},
		{"an absent secret", func(s *api.Spec) {
			s.Grants = &api.Grants{Secrets: map[string]api.SecretKey{"k": {Name: "absent", Key: "key"}}}
		}, api.Granted, "spec.grants.secrets[k]: not found"},
		{"much more than configuration", func(s *api.Spec) {
			s.Grants = &api.Grants{Secrets: map[string]api.SecretKey{"k": {Name: "large", Key: "key"}, "l": {Name: "large", Key: "key"}, "m": {Name: "large", Key: "other"}}}
		}, api.Accepted, "spec.grants.secrets[m]: the secrets of an operator have more than 1048576 bytes"},
		{"an absent key", func(s *api.Spec) {
			s.Grants = &api.Grants{Secrets: map[string]api.SecretKey{"k": {Name: "s", Key: "other"}}}
		}, api.Granted, `the secret s has no key "other"`},
	}
	synctest.Test(t, func(t *testing.T) {
		base := operator.Options{}
		if err := base.SetLimit("MaxMemory", "32Mi"); err != nil {
			t.Fatal(err)
		}
		x := hosted(t, base)
		for i, tt := range tests {
			name := fmt.Sprint("a", i)
			x.declared(name, 1, tt.change)
			if c := x.Status(key(name)).Find(tt.of); c == nil || c.Status != api.False || !strings.Contains(c.Message, tt.says) {
				t.Errorf("%s: %+v", tt.name, c)
			}
		}
		if len(x.all()) > 0 {
			t.Errorf("%d operators were made", len(x.all()))
		}
		x.declared("good", 1, func(s *api.Spec) {
			s.Grants = &api.Grants{Settings: []string{"networking.trust_env"}, Secrets: map[string]api.SecretKey{"k": {Name: "s", Key: "key"}}}
		})
		x.has("good", api.Ready, api.True, "Serving", "")
		if got := x.all()[0].options; got.Host.Secrets["k"] != "system:serviceaccount:ns:sa" || got.Host.MaxMemory != 32<<20 {
			t.Errorf("got %v, %d", got.Host.Secrets, got.Host.MaxMemory)
		}
	})
}

// TestServersOfTheMachineAreRefused: by name and by address.
func TestServersOfTheMachineAreRefused(t *testing.T) {
	for text, allowed := range map[string]bool{
		"example.com": true, "*.example.com": true, "http://service.team:8080": true, "*": true,
		"localhost": false, "http://LOCALHOST:8080": false, "a.localhost": false, "127.0.0.1": false, "http://169.254.169.254": false, "http://[::1]:80": false, "http://localhost.": false,
	} {
		host, err := operator.ParseHost(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkHost(host); (err == nil) != allowed {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestTheStateOfTheHostEndsOperatorsWithPauses: an operator that overlaps, or for whose objects there is no memory, learns it after it has
// started. It is not started each second, and not put into quarantine.
func TestTheStateOfTheHostEndsOperatorsWithPauses(t *testing.T) {
	for reason, cause := range map[string]error{"SameObjects": operator.ErrOverlap, "NoMemory": &operator.BudgetError{}} {
		synctest.Test(t, func(t *testing.T) {
			x := hosted(t, operator.Options{})
			var ends atomic.Bool
			ends.Store(true)
			x.setUp = func(f *fake) {
				f.starting = func() error {
					if time.Sleep(time.Millisecond); ends.Load() {
						return cause
					}
					return nil
				}
			}
			x.declared("a", 1, nil)
			time.Sleep(time.Hour)
			x.has("a", classify(cause).Condition, api.True, reason, "")
			if n := len(x.all()); n < 10 || n > 30 {
				t.Errorf("%s: it was started %d times in an hour", reason, n)
			}
			ends.Store(false)
			time.Sleep(lastRetry + time.Second)
			x.has("a", api.Ready, api.True, "Serving", "")
		})
	}
}

// TestErrorsHaveTheirConditions: each kind of failure is named by a condition.
func TestErrorsHaveTheirConditions(t *testing.T) {
	rule, err := operator.ParseRule("list:pods")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		err    error
		of     api.ConditionType
		reason string
	}{
		{&operator.MissingGrantsError{Module: "m", Missing: operator.Grants{Kubernetes: []operator.Rule{rule}}}, api.Granted, "MissingGrants"},
		{fmt.Errorf("m: %w", operator.ErrLogins), api.Granted, "LoginHandlers"},
		{fmt.Errorf("m: %w", operator.ErrOverlap), api.Overlapping, "SameObjects"},
		{&crash{operator.ErrExitTimeout}, api.Quarantined, "Stuck"},
		{&crash{&Refusal{Condition: api.Ready, Reason: "ServiceAccountMissing", Err: errors.New("x")}}, api.Ready, "ServiceAccountMissing"},
		{&crash{errors.New("x")}, api.Degraded, "Ended"},
		{fmt.Errorf("x: %w", &operator.BudgetError{}), api.Degraded, "NoMemory"},
		{errors.New("x"), api.Degraded, "LoadFailed"},
	}
	for _, tt := range tests {
		if got := classify(tt.err); got.Condition != tt.of || got.Reason != tt.reason {
			t.Errorf("%v: %s %s", tt.err, got.Condition, got.Reason)
		}
	}
	if got := classify(tests[0].err).Error(); got != `m wants more than it is granted; set spec.grants.wanted, or add spec.grants.kubernetes: "list:pods"` {
		t.Errorf("says %q", got)
	}
}

// TestSelectorsOfNamespacesSelect: by labels, and by names in addition. Requests of guests have
// the same limits.
func TestSelectorsOfNamespacesSelect(t *testing.T) {
	d := &Declaration{Key: Key{Kind: api.Cluster, Name: "a"}, Spec: api.Spec{ServiceAccountName: "sa", ServiceAccountNamespace: "ns"}}
	d.Spec.Scope = &api.Scope{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "x"}}}
	if _, err := New(Options{Identities: identities{}}).optionsOf(d); err == nil || !strings.Contains(err.Error(), "spec.scope.namespaceSelector: this host does not watch namespaces") {
		t.Errorf("without namespaces: %v", err)
	}
	namespaces, err := places.New(&rest.Config{Host: "https://localhost:1"}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	h := New(Options{Identities: identities{}, Places: namespaces, Gateway: &gate{}})
	scoped := func(o operator.Options) bool { // webhooks have the same limits
		tenancy, refusal := o.Admission.Tenancy, (*Refusal)(nil)
		return tenancy.Refuse == nil && tenancy.Scope.Territory == o.Territory && errors.As(tenancy.RefuseConversion, &refusal) && refusal.Reason == "ConversionScope"
	}
	o, err := h.optionsOf(d)
	if err != nil || o.Territory == nil || !slices.Equal(o.Namespaces, []string{"*"}) {
		t.Fatalf("%v, %q, %v", o.Territory, o.Namespaces, err)
	}
	if !scoped(o) {
		t.Errorf("webhooks: %+v", o.Admission.Tenancy)
	}
	d.Spec.Scope.Namespaces = []string{"prod-*"}
	if o, err = h.optionsOf(d); err != nil || !slices.Equal(o.Namespaces, []string{"prod-*"}) {
		t.Errorf("%q, %v", o.Namespaces, err)
	}
	d.Spec.Scope.NamespaceSelector = nil
	if o, err = h.optionsOf(d); err != nil || o.Territory == nil || !scoped(o) {
		t.Errorf("patterns without a selector: %v, %v", o.Territory, err)
	}
	if _, err := New(Options{Identities: identities{}}).optionsOf(d); err == nil || !strings.Contains(err.Error(), "spec.scope.namespaces: this host does not watch namespaces: name them") {
		t.Errorf("patterns without namespaces: %v", err)
	}
	d.Spec.Scope.Namespaces = []string{"b", "a", "b"}
	if o, err = h.optionsOf(d); err != nil || o.Territory != nil || o.Admission.Tenancy.Scope.Territory != nil {
		t.Errorf("names: %v, %v", o.Territory, err)
	}
}

package streams

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/claims"
	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/generations"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/watching"
	"github.com/kopf-wasm/kopf/stores"
)

// Operators of one process may share resources if they share no state on the objects.
func TestClaims(t *testing.T) {
	set := func(s *settings.Settings, name, value string) {
		t.Helper()
		if err := s.Set(name, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	const otherState = `{"type":"annotations","prefix":"example.com"}`
	tests := []struct {
		name      string
		change    func(common *Common)
		resource  string
		namespace string
		kind      abi.Kind
		overlaps  bool
	}{
		{"the same", func(*Common) {}, "apples", "a", abi.KindCreate, true},
		{"daemons", func(*Common) {}, "apples", "a", abi.KindDaemon, true},
		{"everywhere", func(*Common) {}, "apples", "", abi.KindCreate, true},
		{"another namespace", func(*Common) {}, "apples", "b", abi.KindCreate, false},
		{"another resource", func(*Common) {}, "pears", "a", abi.KindCreate, false},
		{"another cluster", func(common *Common) { common.By.Cluster = "https://other" }, "apples", "a", abi.KindCreate, false},
		{"nothing is kept", func(*Common) {}, "apples", "a", abi.KindEvent, false},
		{"another finalizer only", func(common *Common) { common.Settings.Persistence.Finalizer = "x" }, "apples", "a", abi.KindCreate, true},
		{"another state only", func(common *Common) { set(common.Settings, "persistence.diffbase_storage", otherState) }, "apples", "a", abi.KindCreate, true},
		{"another finalizer and state", func(common *Common) {
			common.Settings.Persistence.Finalizer = "x"
			set(common.Settings, "persistence.diffbase_storage", otherState)
		}, "apples", "a", abi.KindCreate, false},
		{"the state in two places, one of them shared", func(common *Common) {
			common.Settings.Persistence.Finalizer = "x"
			common.Settings.Persistence.DiffBase = stores.MultiDiffBase{stores.NewStatusDiffBase(stores.StatusDiffBaseOptions{}), settings.Default().Persistence.DiffBase}
		}, "apples", "a", abi.KindCreate, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			shared := &claims.Claims{}
			one := &Common{By: claims.Claimant{Owner: 1, Operator: "one"}, Claims: shared, Settings: settings.Default()}
			two := &Common{By: claims.Claimant{Owner: 2, Operator: "two"}, Claims: shared, Settings: settings.Default()}
			tt.change(two)
			claim := func(common *Common, resource, namespace string, kind abi.Kind) (func(), error) {
				registry, err := registries.New(reactortest.Instant{Handlers: []abi.Handler{{Kind: kind, ID: "fn", Resource: &abi.Selector{Group: new("example.com"), Plural: resource}}}})
				if err != nil {
					t.Fatal(err)
				}
				e, err := generations.New(0, registry, handling.Services{}, nil)
				if err != nil {
					t.Fatal(err)
				}
				d := dimensions.Dimension{Resource: selectors.Resource{Group: "example.com", Plural: resource, Preferred: true}, Namespace: namespace}
				s := &Stream{common: common, Dimension: d, reading: t.Context(), watch: &watching.Stream{}}
				return s.unclaim, s.Reclaim(e)
			}
			release, err := claim(one, "apples", "a", abi.KindCreate)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := claim(one, "apples", "a", abi.KindCreate); err != nil {
				t.Errorf("with itself: %v", err)
			}
			if _, err := claim(two, tt.resource, tt.namespace, tt.kind); errors.Is(err, claims.ErrOverlap) != tt.overlaps {
				t.Errorf("got %v, want an overlap: %t", err, tt.overlaps)
			}
			release()
		})
	}
}

// TestClaimsThatYield: an operator of a higher precedence takes the objects of others, as anyone does from an operator that may not
// have them. It waits until the other one has ended. One that the API server refuses takes nothing: both took the objects from each
// other again and again.
func TestClaimsThatYield(t *testing.T) {
	for _, tt := range []struct {
		name                       string
		first, second              int
		forbidden, refused, yields bool
	}{
		{"a higher precedence", 0, 1, false, false, true},
		{"equal ones", 1, 1, false, false, false},
		{"a lower one", 1, 0, false, false, false},
		{"objects that the first one may not have", 0, 0, true, false, true},
		{"objects that the second one may not have", 0, 1, false, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shared := &claims.Claims{}
				var refused error
				wanted := claims.Wanted{
					Dimension: dimensions.Dimension{Resource: selectors.Resource{Group: "example.com", Plural: "apples"}}, Persistence: settings.Default().Persistence,
					Forbidden: func() bool { return tt.forbidden },
				}
				if _, err := shared.Claim(t.Context(), claims.Claimant{Owner: 1, Operator: "one", Precedence: tt.first, Refuse: func(err error) { refused = err }}, wanted); err != nil {
					t.Fatal(err)
				}
				wanted.Refused = func() bool { return tt.refused }
				claimed := make(chan error, 1)
				go func() { // ends in the bubble
					_, err := shared.Claim(t.Context(), claims.Claimant{Owner: 2, Operator: "two", Precedence: tt.second, Refuse: func(error) {}}, wanted)
					claimed <- err
				}()
				synctest.Wait()
				if !tt.yields {
					if err := <-claimed; !errors.Is(err, claims.ErrOverlap) || refused != nil {
						t.Errorf("the second one got %v, and the first one %v", err, refused)
					}
					return
				}
				if len(claimed) > 0 || !errors.Is(refused, claims.ErrOverlap) {
					t.Errorf("the first one got %v, and the second one does not wait: %d", refused, len(claimed))
				}
				shared.Leave(1)
				if err := <-claimed; err != nil {
					t.Error(err)
				}
				if _, err := shared.Claim(t.Context(), claims.Claimant{Owner: 3, Precedence: tt.first, Refuse: func(error) {}}, wanted); tt.first < tt.second && !errors.Is(err, claims.ErrOverlap) {
					t.Errorf("a third one got %v", err)
				}
			})
		})
	}
}

// intruding is a storage that calls a function while a claim is made.
type intruding struct {
	stores.DiffBaseStorage
	enter func()
}

func (s intruding) Store(body stores.Object, patch *stores.Patch, essence stores.Object) error {
	s.enter()
	return s.DiffBaseStorage.Store(body, patch, essence)
}

// TestClaimsAreNeverGivenBackInBetween: an operator claims its objects for a module that replaces another one. No other operator gets
// them at that moment.
func TestClaimsAreNeverGivenBackInBetween(t *testing.T) {
	registry, err := registries.New(reactortest.Instant{Handlers: []abi.Handler{{Kind: abi.KindCreate, ID: "fn", Resource: &abi.Selector{Group: new("example.com"), Plural: "apples"}}}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := generations.New(0, registry, handling.Services{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	shared := &claims.Claims{}
	common := &Common{By: claims.Claimant{Owner: 1, Operator: "one"}, Claims: shared, Settings: settings.Default()}
	s := &Stream{common: common, Dimension: dimensions.Dimension{Resource: selectors.Resource{Group: "example.com", Plural: "apples", Preferred: true}}, reading: t.Context(), watch: &watching.Stream{}}
	if err := s.Reclaim(e); err != nil {
		t.Fatal(err)
	}
	var refused error
	usual := common.Settings.Persistence
	common.Settings.Persistence.DiffBase = intruding{usual.DiffBase, func() {
		_, refused = shared.Claim(t.Context(), claims.Claimant{Owner: 2, Operator: "two"}, claims.Wanted{Dimension: s.Dimension, Persistence: usual})
	}}
	if err := s.Reclaim(e); err != nil {
		t.Error(err)
	}
	if !errors.Is(refused, claims.ErrOverlap) {
		t.Errorf("another operator got %v", refused)
	}
}

// TestLooksDoNotWaitForClaims: a claim may wait for a minute until another operator has ended. Meanwhile, a status page can look at the
// streams, and others begin, but none ends.
func TestLooksDoNotWaitForClaims(t *testing.T) {
	set, one := &Set{}, &Stream{}
	set.add(one)
	claiming, claimed, ended, looked := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan int)
	go set.Each(func(*Stream) { // ends before remove
		close(claiming)
		<-claimed
	})
	<-claiming
	go func() { // ends below
		defer close(ended)
		set.remove(one)
	}()
	go func() { // ends here, or never
		set.add(&Stream{})
		looked <- len(set.Now())
	}()
	select {
	case n := <-looked:
		if n != 2 {
			t.Errorf("%d streams are seen", n)
		}
	case <-time.After(10 * time.Second):
		t.Error("a look waits for a claim")
	}
	close(claimed)
	<-ended
	if n := len(set.Now()); n != 1 {
		t.Errorf("%d streams are left", n)
	}
}

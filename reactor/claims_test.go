package reactor

import (
	"errors"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/stores"
)

// Operators of one process may share resources if they share nothing that is on the objects.
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
		change    func(host *streamHost)
		resource  string
		namespace string
		kind      abi.Kind
		overlaps  bool
	}{
		{"the same", func(*streamHost) {}, "apples", "a", abi.KindCreate, true},
		{"daemons", func(*streamHost) {}, "apples", "a", abi.KindDaemon, true},
		{"everywhere", func(*streamHost) {}, "apples", "", abi.KindCreate, true},
		{"another namespace", func(*streamHost) {}, "apples", "b", abi.KindCreate, false},
		{"another resource", func(*streamHost) {}, "pears", "a", abi.KindCreate, false},
		{"another cluster", func(host *streamHost) { host.by.cluster = "https://other" }, "apples", "a", abi.KindCreate, false},
		{"nothing is kept", func(*streamHost) {}, "apples", "a", abi.KindEvent, false},
		{"another finalizer only", func(host *streamHost) { host.settings.Persistence.Finalizer = "x" }, "apples", "a", abi.KindCreate, true},
		{"another state only", func(host *streamHost) { set(host.settings, "persistence.diffbase_storage", otherState) }, "apples", "a", abi.KindCreate, true},
		{"another finalizer and state", func(host *streamHost) {
			host.settings.Persistence.Finalizer = "x"
			set(host.settings, "persistence.diffbase_storage", otherState)
		}, "apples", "a", abi.KindCreate, false},
		{"the state in two places, one of them shared", func(host *streamHost) {
			host.settings.Persistence.Finalizer = "x"
			host.settings.Persistence.DiffBase = stores.MultiDiffBase{stores.NewStatusDiffBase(stores.StatusDiffBaseOptions{}), settings.Default().Persistence.DiffBase}
		}, "apples", "a", abi.KindCreate, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			shared := &Claims{}
			one := &streamHost{by: claimant{owner: 1, operator: "one"}, claims: shared, settings: settings.Default()}
			two := &streamHost{by: claimant{owner: 2, operator: "two"}, claims: shared, settings: settings.Default()}
			tt.change(two)
			claim := func(host *streamHost, resource, namespace string, kind abi.Kind) (func(), error) {
				registry, err := NewRegistry(instant{handlers: []abi.Handler{{Kind: kind, ID: "fn", Resource: &abi.Selector{Group: "example.com", Plural: resource}}}})
				if err != nil {
					t.Fatal(err)
				}
				e, err := newGeneration(0, registry, services{}, nil)
				if err != nil {
					t.Fatal(err)
				}
				d := dimension{resource: selectors.Resource{Group: "example.com", Plural: resource, Preferred: true}, namespace: namespace}
				s := &servedStream{host: host, dimension: d}
				return s.unclaim, s.reclaim(e)
			}
			release, err := claim(one, "apples", "a", abi.KindCreate)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := claim(one, "apples", "a", abi.KindCreate); err != nil {
				t.Errorf("with itself: %v", err)
			}
			if _, err := claim(two, tt.resource, tt.namespace, tt.kind); errors.Is(err, ErrOverlap) != tt.overlaps {
				t.Errorf("got %v, want an overlap: %t", err, tt.overlaps)
			}
			release()
		})
	}
}

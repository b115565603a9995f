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
		change    func(op *Operator)
		resource  string
		namespace string
		kind      abi.Kind
		overlaps  bool
	}{
		{"the same", func(*Operator) {}, "apples", "a", abi.KindCreate, true},
		{"daemons", func(*Operator) {}, "apples", "a", abi.KindDaemon, true},
		{"everywhere", func(*Operator) {}, "apples", "", abi.KindCreate, true},
		{"another namespace", func(*Operator) {}, "apples", "b", abi.KindCreate, false},
		{"another resource", func(*Operator) {}, "pears", "a", abi.KindCreate, false},
		{"another cluster", func(op *Operator) { op.cluster = "https://other" }, "apples", "a", abi.KindCreate, false},
		{"nothing is kept", func(*Operator) {}, "apples", "a", abi.KindEvent, false},
		{"another finalizer only", func(op *Operator) { op.Settings.Persistence.Finalizer = "x" }, "apples", "a", abi.KindCreate, true},
		{"another state only", func(op *Operator) { set(op.Settings, "persistence.diffbase_storage", otherState) }, "apples", "a", abi.KindCreate, true},
		{"another finalizer and state", func(op *Operator) {
			op.Settings.Persistence.Finalizer = "x"
			set(op.Settings, "persistence.diffbase_storage", otherState)
		}, "apples", "a", abi.KindCreate, false},
		{"the state in two places, one of them shared", func(op *Operator) {
			op.Settings.Persistence.Finalizer = "x"
			op.Settings.Persistence.DiffBase = stores.MultiDiffBase{stores.NewStatusDiffBase(stores.StatusDiffBaseOptions{}), settings.Default().Persistence.DiffBase}
		}, "apples", "a", abi.KindCreate, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			shared := &Claims{}
			one := &Operator{Options: Options{Name: "one", Claims: shared, Settings: settings.Default()}}
			two := &Operator{Options: Options{Name: "two", Claims: shared, Settings: settings.Default()}}
			tt.change(two)
			claim := func(op *Operator, resource, namespace string, kind abi.Kind) (func(), error) {
				registry, err := NewRegistry(instant{[]abi.Handler{{Kind: kind, ID: "fn", Resource: &abi.Selector{Group: "example.com", Plural: resource}}}})
				if err != nil {
					t.Fatal(err)
				}
				e, err := newGeneration(0, registry, services{}, nil)
				if err != nil {
					t.Fatal(err)
				}
				d := dimension{resource: selectors.Resource{Group: "example.com", Plural: resource, Preferred: true}, namespace: namespace}
				s := &servedStream{host: op.host(), dimension: d}
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

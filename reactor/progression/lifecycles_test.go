package progression_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/reactor/progression"
)

func TestLifecycles(t *testing.T) {
	ids := []string{"a", "b", "c"}
	records := map[string]string{"a": `{"retries":2}`, "b": `{"retries":1}`, "c": `{"retries":1}`}
	last := func(n int) int { return n - 1 }
	first := func(int) int { return 0 }
	tests := []struct {
		name string
		intN func(int) int
		want []string
	}{
		{"asap", nil, []string{"b"}},
		{"one_by_one", nil, []string{"a"}},
		{"all_at_once", nil, []string{"a", "b", "c"}},
		{"randomized", last, []string{"c"}},
		{"shuffled", last, []string{"a", "b", "c"}},
		{"shuffled", first, []string{"b", "c", "a"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			choose, err := progression.LifecycleByName(test.name, test.intN)
			if err != nil {
				t.Fatal(err)
			}
			given := slices.Clone(ids)
			if diff := cmp.Diff(test.want, choose(given, restore(t, records, ids...))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !slices.Equal(given, ids) {
				t.Errorf("the given list has become %v", given)
			}
			if chosen := choose(nil, progression.State{}); len(chosen) > 0 {
				t.Errorf("of no handlers: %v", chosen)
			}
		})
	}
	if _, err := progression.LifecycleByName("sometimes", nil); err == nil {
		t.Error("there is a lifecycle of an unknown name")
	}
}

package selectors

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/abi"
)

var allVerbs = []string{"list", "watch", "patch"}

func found(group, version, plural string, verbs ...string) Resource {
	return Resource{
		Group: group, Version: version, Plural: plural, Preferred: version == "v1", Verbs: verbs,
		Categories: []string{"all"},
	}
}

func demand(t *testing.T, kind abi.Kind, texts ...string) Demand {
	t.Helper()
	s, err := Parse(abi.Selector{Args: args(texts...)})
	if err != nil {
		t.Fatal(err)
	}
	return Demand{kind, s}
}

func TestResolve(t *testing.T) {
	inA, inB := found("a.dev", "v1", "xs", allVerbs...), found("b.dev", "v1", "xs", allVerbs...)
	old := found("a.dev", "v1beta1", "xs", allVerbs...)
	pods, metrics := found("", "v1", "pods", allVerbs...), found("metrics.k8s.io", "v1", "pods", "list")
	reviews := found("auth.dev", "v1", "reviews", "create")
	readonly := found("r.dev", "v1", "readonlys", "list", "watch")
	readonly2 := found("r.dev", "v1", "others", "list", "watch")

	for _, tt := range []struct {
		name       string
		discovered []Resource
		demands    []Demand
		watched    []string
		warnings   []string
	}{
		{
			name:       "one of its group",
			discovered: []Resource{inA, old, pods},
			demands:    []Demand{demand(t, abi.KindCreate, "xs"), demand(t, abi.KindEvent, "xs")},
			watched:    []string{"xs.v1.a.dev"},
		},
		{
			name:       "ambiguous in two groups, whichever way it is asked for",
			discovered: []Resource{inA, inB},
			demands:    []Demand{demand(t, abi.KindCreate, "xs"), demand(t, abi.KindEvent, "a.dev", "xs")},
			warnings: []string{
				Ambiguous + ": Selector(any_name='xs') => xs.v1.a.dev, xs.v1.b.dev",
				Unresolved + ": Selector(group='a.dev', any_name='xs')",
			},
		},
		{
			name:       "the same in another order",
			discovered: []Resource{inA, inB},
			demands:    []Demand{demand(t, abi.KindEvent, "a.dev", "xs"), demand(t, abi.KindCreate, "xs")},
			warnings: []string{
				Ambiguous + ": Selector(any_name='xs') => xs.v1.a.dev, xs.v1.b.dev",
				Unresolved + ": Selector(group='a.dev', any_name='xs')",
			},
		},
		{
			name:       "precise in two groups",
			discovered: []Resource{inA, inB},
			demands:    []Demand{demand(t, abi.KindEvent, "a.dev", "xs"), demand(t, abi.KindEvent, "xs.v1.b.dev")},
			watched:    []string{"xs.v1.a.dev", "xs.v1.b.dev"},
		},
		{
			name:       "the core API wins",
			discovered: []Resource{metrics, pods},
			demands:    []Demand{demand(t, abi.KindCreate, "pods")},
			watched:    []string{"pods.v1"},
		},
		{
			name:       "categories and everything are never ambiguous",
			discovered: []Resource{inA, inB, pods},
			demands: []Demand{
				{abi.KindEvent, Selector{by: byCategory, name: "all"}},
				demand(t, abi.KindEvent, "EVERYTHING"),
			},
			watched: []string{"xs.v1.a.dev", "xs.v1.b.dev", "pods.v1"},
		},
		{
			name:       "two versions of one resource",
			discovered: []Resource{inA, old},
			demands:    []Demand{demand(t, abi.KindEvent, "xs"), demand(t, abi.KindEvent, "xs.v1beta1.a.dev")},
			watched:    []string{"xs.v1.a.dev", "xs.v1beta1.a.dev"},
		},
		{
			name:       "not there yet",
			discovered: []Resource{pods},
			demands:    []Demand{demand(t, abi.KindCreate, "xs"), demand(t, abi.KindIndex, "ys")},
			warnings:   []string{Unresolved + ": Selector(any_name='xs'), Selector(any_name='ys')"},
		},
		{
			name:       "not watchable",
			discovered: []Resource{metrics, reviews, pods},
			demands:    []Demand{demand(t, abi.KindEvent, "EVERYTHING")},
			watched:    []string{"pods.v1"},
			warnings:   []string{Unwatchable + ": pods.v1.metrics.k8s.io, reviews.v1.auth.dev"},
		},
		{
			name:       "not patchable, and no need to",
			discovered: []Resource{readonly},
			demands:    []Demand{demand(t, abi.KindEvent, "readonlys"), demand(t, abi.KindIndex, "readonlys")},
			watched:    []string{"readonlys.v1.r.dev"},
		},
		{
			name:       "not patchable, but there is a state to keep",
			discovered: []Resource{readonly, readonly2, pods},
			demands:    []Demand{demand(t, abi.KindEvent, "EVERYTHING"), demand(t, abi.KindTimer, "readonlys")},
			watched:    []string{"pods.v1"},
			warnings:   []string{Unpatchable + ": readonlys.v1.r.dev, others.v1.r.dev"},
		},
		{
			name:       "nothing to watch",
			discovered: []Resource{pods},
			demands:    []Demand{demand(t, abi.KindValidate, "pods"), demand(t, abi.KindMutate, "absents")},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Resolve(tt.discovered, tt.demands)
			if diff := cmp.Diff(append([]string{}, tt.watched...), names(got.Watched)); diff != "" {
				t.Errorf("watched (-want +got):\n%s", diff)
			}
			var warnings []string
			for _, w := range got.Warnings {
				warnings = append(warnings, fmt.Sprint(w))
			}
			if diff := cmp.Diff(tt.warnings, warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestResolvePurposes(t *testing.T) {
	inA, inB := found("a.dev", "v1", "xs", allVerbs...), found("b.dev", "v1", "ys", allVerbs...)
	zs, zs2 := found("c.dev", "v1", "zs", "create"), found("d.dev", "v1", "zs", "create")
	got := Resolve([]Resource{inA, inB, zs, zs2}, []Demand{
		demand(t, abi.KindIndex, "xs"), demand(t, abi.KindDaemon, "ys"),
		demand(t, abi.KindValidate, "zs"), demand(t, abi.KindMutate, "xs"), demand(t, abi.KindConvert, "zs"),
	})
	want := map[string][]string{
		"watched":  {"xs.v1.a.dev", "ys.v1.b.dev"},
		"webhooks": {"xs.v1.a.dev", "zs.v1.c.dev", "zs.v1.d.dev"},
	}
	lists := map[string][]string{
		"watched": names(got.Watched), "webhooks": names(got.Webhooks),
	}
	if diff := cmp.Diff(want, lists); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(got.Warnings) > 0 {
		t.Errorf("warnings: %v", got.Warnings)
	}
}

func TestServedAgainWhenNotAmbiguousAnymore(t *testing.T) {
	inA, inB := found("a.dev", "v1", "xs", allVerbs...), found("b.dev", "v1", "xs", allVerbs...)
	demands := []Demand{demand(t, abi.KindCreate, "xs")}
	if got := Resolve([]Resource{inA, inB}, demands); len(got.Watched) != 0 {
		t.Fatalf("ambiguous, but watched: %v", got.Watched)
	}
	if got := Resolve([]Resource{inA}, demands); len(got.Watched) != 1 || len(got.Warnings) != 0 {
		t.Errorf("got %v with %v", got.Watched, got.Warnings)
	}
}

// What an operator keeps does not grow with the resources of the cluster that it does not
// serve.
func TestResolveHoldsNoRoom(t *testing.T) {
	var all []Resource
	for i := range 100 {
		all = append(all, found("kopf.dev", "v1", fmt.Sprintf("r%d", i), allVerbs...))
	}
	served := Resolve(all, []Demand{demand(t, abi.KindCreate, "r7"), demand(t, abi.KindValidate, "r8")})
	for name, resources := range map[string][]Resource{"watched": served.Watched, "webhooks": served.Webhooks} {
		if len(resources) != 1 || cap(resources) != 1 {
			t.Errorf("%s: %d of a capacity of %d, want one", name, len(resources), cap(resources))
		}
	}
}

// TestManyDemands: a hosted operator can have ten thousand handlers, and resolves what they demand again and again while something
// does not exist. That is no computing of its guests.
func TestManyDemands(t *testing.T) {
	var demands []Demand
	for i := range 10_000 {
		demands = append(demands, Demand{abi.KindEvent, Named("a.dev", "", fmt.Sprintf("absent%05d", i))})
	}
	fastest := time.Hour
	for range 5 {
		began := time.Now()
		if got := len(selectorsFor(demands, isWatching)); got != len(demands) {
			t.Fatalf("%d selectors", got)
		}
		fastest = min(fastest, time.Since(began))
	}
	if fastest > 50*time.Millisecond {
		t.Errorf("%d demands take %v", len(demands), fastest)
	}
}

package selectors

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/apipath"
)

var cluster = []Resource{
	{Group: "metrics.k8s.io", Version: "v1beta1", Plural: "pods", Kind: "PodMetrics", Namespaced: true, Preferred: true},
	{Version: "v1", Plural: "pods", Kind: "Pod", Singular: "pod", Shortcuts: []string{"po"}, Categories: []string{"all"}, Namespaced: true, Preferred: true},
	{Version: "v1", Plural: "events", Kind: "Event", Namespaced: true, Preferred: true},
	{Group: "events.k8s.io", Version: "v1", Plural: "events", Kind: "Event", Namespaced: true, Preferred: true},
	{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Singular: "kopfexample", Shortcuts: []string{"kex"}, Categories: []string{"all"}, Namespaced: true, Preferred: true},
	{Group: "kopf.dev", Version: "v1beta1", Plural: "kopfexamples", Kind: "KopfExample", Singular: "kopfexample", Shortcuts: []string{"kex"}, Categories: []string{"all"}, Namespaced: true},
	{Group: "kopf.dev", Version: "v1", Plural: "globals", Kind: "Global", Preferred: true},
}

func names(resources []Resource) []string {
	list := []string{}
	for _, r := range resources {
		list = append(list, r.String())
	}
	return list
}

func TestSelect(t *testing.T) {
	const v1, beta, globals = "kopfexamples.v1.kopf.dev", "kopfexamples.v1beta1.kopf.dev", "globals.v1.kopf.dev"
	const pods, metrics = "pods.v1", "pods.v1beta1.metrics.k8s.io"
	for _, tt := range []struct {
		name     string
		spec     abi.Selector
		specific bool
		want     []string
	}{
		{"by plural", abi.Selector{Plural: "kopfexamples"}, true, []string{v1}},
		{"by kind", abi.Selector{Kind: "KopfExample"}, true, []string{v1}},
		{"by singular", abi.Selector{Singular: "kopfexample"}, true, []string{v1}},
		{"by short name", abi.Selector{Shortcut: "kex"}, true, []string{v1}},
		{"by category", abi.Selector{Category: "all"}, false, []string{pods, v1}},
		{"by any name: a short one", abi.Selector{Args: args("kex")}, true, []string{v1}},
		{"by any name: a kind", abi.Selector{Args: args("Pod")}, true, []string{pods}},
		{"by any name: never a category", abi.Selector{Args: args("all")}, true, []string{}},
		{"names of another sort", abi.Selector{Plural: "kex"}, true, []string{}},
		{"names are not patterns", abi.Selector{Args: args("kopf*")}, true, []string{}},
		{"another version", abi.Selector{Args: args("kopf.dev/v1beta1", "kex")}, true, []string{beta}},
		{"another group", abi.Selector{Args: args("other.dev", "kex")}, true, []string{}},
		{"core first", abi.Selector{Args: args("pods")}, true, []string{pods}},
		{"not core, if another group is given", abi.Selector{Args: args("pods.metrics.k8s.io")}, true, []string{metrics}},
		{"everything but events", abi.Selector{Args: args("EVERYTHING")}, false, []string{metrics, pods, v1, globals}},
		{"everything of a group and version", abi.Selector{Args: args("kopf.dev/v1", "EVERYTHING")}, false, []string{v1, globals}},
		{"events if named", abi.Selector{Args: args("v1", "events")}, true, []string{"events.v1"}},
		{"events of the other group", abi.Selector{Args: args("events.k8s.io", "events")}, true, []string{"events.v1.events.k8s.io"}},
		{"no function yet", abi.Selector{Function: true}, false, []string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Parse(tt.spec)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, names(s.Select(cluster))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if s.IsSpecific() != tt.specific {
				t.Errorf("specific: %t", s.IsSpecific())
			}
		})
	}
}

func TestFunctionSelectors(t *testing.T) {
	s, err := Parse(abi.Selector{Function: true, Group: new("kopf.dev")})
	if err != nil {
		t.Fatal(err)
	}
	var askedFor []Resource
	bound := s.Bind(func(r Resource) bool {
		askedFor = append(askedFor, r)
		return r.Version == "v1beta1"
	})
	if diff := cmp.Diff([]string{"kopfexamples.v1beta1.kopf.dev"}, names(bound.Select(cluster))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if slices.ContainsFunc(askedFor, func(r Resource) bool { return r.Group != "kopf.dev" }) {
		t.Errorf("asked for resources of other groups: %v", askedFor)
	}
	all, err := Parse(abi.Selector{Function: true})
	if err != nil {
		t.Fatal(err)
	}
	all = all.Bind(func(r Resource) bool { return r.Plural == "events" })
	if got := all.Select(cluster); got != nil {
		t.Errorf("events are selected by a function: %v", got)
	}
	if bound == s.Bind(func(Resource) bool { return true }) {
		t.Error("selectors with different functions are equal")
	}
	if named := Named("", "v1", "pods"); named != named.Bind(func(Resource) bool { return false }) {
		t.Error("a selector without a function has changed")
	}
}

func TestZeroSelectorSelectsNothing(t *testing.T) {
	if got := (Selector{}).Select(cluster); got != nil {
		t.Errorf("it selects %v", got)
	}
	if got := (Selector{}).String(); got != "Selector()" {
		t.Errorf("it is shown as %s", got)
	}
}

func TestURL(t *testing.T) {
	pods := Resource{Version: "v1", Plural: "pods", Namespaced: true}
	globals := Resource{Group: "kopf.dev", Version: "v1", Plural: "globals"}
	for _, tt := range []struct {
		resource                     Resource
		namespace, name, subresource string
		want                         apipath.Path
		err                          error
	}{
		{pods, "", "", "", "/api/v1/pods", nil},
		{pods, "ns", "", "", "/api/v1/namespaces/ns/pods", nil},
		{pods, "ns", "p", "", "/api/v1/namespaces/ns/pods/p", nil},
		{pods, "ns", "p", "status", "/api/v1/namespaces/ns/pods/p/status", nil},
		{globals, "", "", "", "/apis/kopf.dev/v1/globals", nil},
		{globals, "", "g", "scale", "/apis/kopf.dev/v1/globals/g/scale", nil},
		{globals, "", "x?y", "", "/apis/kopf.dev/v1/globals/x%3Fy", nil},
		{pods, "", "p", "", "", ErrNamespaced},
		{pods, "ns", "", "status", "", ErrNoName},
		{globals, "ns", "", "", "", ErrClusterWide},
		{globals, "ns", "g", "", "", ErrClusterWide},
	} {
		got, err := tt.resource.URL(tt.namespace, tt.name, tt.subresource)
		if got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s %q %q %q: got %q and %v, want %q and %v",
				tt.resource, tt.namespace, tt.name, tt.subresource, got, err, tt.want, tt.err)
		}
	}
}

func TestResourceInfo(t *testing.T) {
	r := Resource{"g", "v1", "ks", "K", "k", []string{"s"}, []string{"c"}, []string{"status"}, true, true, []string{"list"}}
	want := &abi.ResourceInfo{
		Group: "g", Version: "v1", Plural: "ks", Kind: "K", Singular: "k", Shortcuts: []string{"s"},
		Categories: []string{"c"}, Subresources: []string{"status"}, Namespaced: true, Preferred: true, Verbs: []string{"list"},
	}
	if diff := cmp.Diff(want, r.Info()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r.Key() != (Key{"g", "v1", "ks"}) {
		t.Errorf("key %v", r.Key())
	}
}

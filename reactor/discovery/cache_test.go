package discovery

import (
	"maps"
	"reflect"
	"testing"

	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// All operators that found the same resources share the set of their definitions.
func TestDefinitions(t *testing.T) {
	var results interned
	resources := func() []selectors.Resource {
		return []selectors.Resource{{Group: "kopf.dev", Plural: "as"}, {Plural: "pods"}}
	}
	want := map[string]bool{"as.kopf.dev": true, "pods.": true}
	first, second := results.of(resources()), results.of(resources())
	a, b := results.definitionsOf(first), results.definitionsOf(second)
	if !maps.Equal(a, want) || reflect.ValueOf(a).Pointer() != reflect.ValueOf(b).Pointer() {
		t.Errorf("got %v and %v, want one set: %v", a, b, want)
	}
	other := []selectors.Resource{{Plural: "nodes"}}
	if got := results.definitionsOf(other); !maps.Equal(got, map[string]bool{"nodes.": true}) {
		t.Errorf("of resources that are not kept: %v", got)
	}
	if got := results.definitionsOf(results.of(other)); !maps.Equal(got, map[string]bool{"nodes.": true}) {
		t.Errorf("of the next result: %v", got)
	}
	if got := results.definitionsOf(nil); len(got) != 0 {
		t.Errorf("of none: %v", got)
	}
}

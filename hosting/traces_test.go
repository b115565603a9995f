package hosting

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/reactor/tracing"
)

// named is a tracer with the names of its operator.
type named string

// Record implements tracing.Tracer.
func (named) Record(*tracing.Record) {}

// TestEachOperatorHasATracerOfItsOwn: by the names of its declaration, and the same one after a
// restart, so that restarts give no further queue.
func TestEachOperatorHasATracerOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{Tracer: named("of all")})
		x.declared("before", 1, nil)
		var asked []string
		x.options.Tracer = func(namespace, name string) tracing.Tracer {
			asked = append(asked, namespace+"/"+name)
			return named(fmt.Sprintf("%s/%s %d", namespace, name, len(asked)))
		}
		x.declared("a", 1, nil)
		x.declared("a", 2, func(s *api.Spec) { s.Limits = map[string]string{"ComputeRate": "10s"} })
		x.declared("b", 1, nil)
		var got []string
		for _, f := range x.all() {
			got = append(got, fmt.Sprint(f.options.Tracer))
		}
		if want := []string{"of all", "ns/a 1", "ns/a 1", "ns/b 2"}; !slices.Equal(got, want) {
			t.Errorf("tracers %q, want %q", got, want)
		}
		if want := []string{"ns/a", "ns/b"}; !slices.Equal(asked, want) {
			t.Errorf("asked for %q, want %q", asked, want)
		}
	})
}

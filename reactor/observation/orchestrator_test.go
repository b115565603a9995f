package observation

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// streams records which streams run. Each takes some time to end.
type streams struct {
	mu    sync.Mutex // guards lines
	lines []string
}

func (s *streams) note(what string, d dimensions.Dimension) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.Peering {
		what += " peering"
	}
	s.lines = append(s.lines, fmt.Sprintf("%s %s/%s %s", what, d.Namespace, d.Resource.Plural, d.Resource.Kind))
}

// taken returns the records since the last call.
func (s *streams) taken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := s.lines
	s.lines = nil
	slices.Sort(lines)
	return lines
}

func newTestOrchestrator(s *streams) *Orchestrator {
	o := NewOrchestrator()
	o.Prepare, o.Started = func(dimensions.Dimension) {}, func() {}
	o.Start = func(ctx context.Context, d *dimensions.Dimension, ended func()) {
		s.note("begin", *d)
		context.AfterFunc(ctx, func() {
			time.Sleep(time.Second)
			s.note("end", *d)
			ended()
		})
	}
	return o
}

func TestOrchestration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &streams{}
		o := newTestOrchestrator(s)
		ctx, cancel := context.WithCancel(t.Context())
		apples := selectors.Resource{Plural: "apples", Kind: "Apple", Namespaced: true}
		nodes := selectors.Resource{Plural: "nodes", Kind: "Node"}
		redefined := selectors.Resource{Plural: "apples", Kind: "Pomme", Namespaced: true}
		steps := []struct {
			name string
			do   func()
			want []string
		}{
			{"resources alone are not enough", func() { o.serveResources(ctx, []selectors.Resource{apples, nodes}, []selectors.Resource{apples}) }, nil},
			{"namespaces", func() { o.serveNamespaces(ctx, []string{"a", "b"}) }, []string{
				"begin /nodes Node", "begin a/apples Apple", "begin b/apples Apple", "begin peering a/apples Apple", "begin peering b/apples Apple",
			}},
			{"a namespace is gone", func() { o.serveNamespaces(ctx, []string{"a"}) }, []string{"end b/apples Apple", "end peering b/apples Apple"}},
			{"a resource is redefined", func() { o.serveResources(ctx, []selectors.Resource{redefined}, nil) }, []string{
				"begin a/apples Pomme", "end /nodes Node", "end a/apples Apple", "end peering a/apples Apple",
			}},
			{"peering comes", func() { o.serveResources(ctx, []selectors.Resource{redefined}, []selectors.Resource{redefined}) }, []string{"begin peering a/apples Pomme"}},
			{"the operator exits", func() { cancel(); o.Wait() }, []string{"end a/apples Pomme"}},
			{"the peering comes last", o.Leave, []string{"end peering a/apples Pomme"}},
		}
		for _, step := range steps {
			step.do()
			time.Sleep(3 * time.Second)
			if diff := cmp.Diff(step.want, s.taken()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", step.name, diff)
			}
		}
		if len(o.ending) > 0 {
			t.Errorf("%d streams are remembered for ever", len(o.ending))
		}
	})
}

// The successor of a stream waits for its end.
func TestStreamsDoNotOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &streams{}
		o := newTestOrchestrator(s)
		ctx, cancel := context.WithCancel(t.Context())
		o.serveNamespaces(ctx, nil)
		for _, kind := range []string{"A", "B", "C"} {
			o.serveResources(ctx, []selectors.Resource{{Plural: "x", Kind: kind}}, nil)
		}
		time.Sleep(1500 * time.Millisecond) // A has ended, B is about to
		cancel()
		o.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		want := []string{"begin /x A", "end /x A", "begin /x B", "end /x B", "begin /x C", "end /x C"}
		if diff := cmp.Diff(want, s.lines); diff != "" {
			t.Errorf("in their order (-want +got):\n%s", diff)
		}
	})
}

// TestHarmlessRedefinitions: changes of a definition that matter to no stream cancelled the handlers that ran for long, and they were
// called again. In Kopf, streams end for none.
func TestHarmlessRedefinitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		was := selectors.Resource{Plural: "apples", Kind: "Apple", Namespaced: true, Preferred: true}
		alike := true
		for _, tt := range []struct {
			name   string
			change func(is *selectors.Resource)
			begins bool
		}{
			{"names", func(is *selectors.Resource) { is.Shortcuts, is.Categories = []string{"ap"}, []string{"all"} }, false},
			{"a scale", func(is *selectors.Resource) { is.Subresources = []string{"scale"} }, false},
			{"another preferred version", func(is *selectors.Resource) { is.Preferred = false }, false},
			{"a status", func(is *selectors.Resource) { is.Subresources = []string{"status"} }, true},
			{"a kind", func(is *selectors.Resource) { is.Kind = "Pomme" }, true},
			{"handlers", func(is *selectors.Resource) { is.Shortcuts, alike = []string{"ap"}, false }, true},
		} {
			s := &streams{}
			o := newTestOrchestrator(s)
			o.Alike = func(_, _ selectors.Resource) bool { return alike }
			ctx, cancel := context.WithCancel(t.Context())
			o.serveNamespaces(ctx, nil)
			o.serveResources(ctx, []selectors.Resource{was}, nil)
			time.Sleep(3 * time.Second)
			s.taken()
			is := was
			tt.change(&is)
			o.serveResources(ctx, []selectors.Resource{is}, nil)
			time.Sleep(3 * time.Second)
			if begins := len(s.taken()) > 0; begins != tt.begins {
				t.Errorf("%s: another stream: %t", tt.name, begins)
			}
			cancel()
			o.Wait()
		}
	})
}

// The stream of another version has the same objects, so it waits, too: a handler of an object that still runs was called again meanwhile.
func TestStreamsOfVersionsDoNotOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &streams{}
		o := newTestOrchestrator(s)
		ctx, cancel := context.WithCancel(t.Context())
		first := selectors.Resource{Group: "example.com", Version: "v1", Plural: "apples", Kind: "First", Namespaced: true}
		second, other := first, first
		second.Version, second.Kind = "v2", "Second"
		other.Group, other.Kind = "example.org", "Other"
		o.serveNamespaces(ctx, []string{"a"})
		o.serveResources(ctx, []selectors.Resource{first}, nil)
		synctest.Wait()
		o.serveResources(ctx, []selectors.Resource{second, other}, nil)
		time.Sleep(3 * time.Second)
		s.mu.Lock()
		want := []string{"begin a/apples First", "begin a/apples Other", "end a/apples First", "begin a/apples Second"}
		if diff := cmp.Diff(want, s.lines); diff != "" {
			t.Errorf("in their order (-want +got):\n%s", diff)
		}
		s.mu.Unlock()
		cancel()
		o.Wait()
	})
}

// TestGoneStreams checks which streams have lost their objects: those of resources that no
// scan finds in any version, and of namespaces that were deleted.
func TestGoneStreams(t *testing.T) {
	apples := selectors.Resource{Group: "example.com", Version: "v1", Plural: "apples", Namespaced: true}
	later := apples
	later.Version = "v2"
	for _, tt := range []struct {
		name       string
		found      []selectors.Resource
		namespaces []string
		namespace  string
		gone       bool
	}{
		{"in the cluster", []selectors.Resource{apples}, nil, "", false},
		{"in a namespace", []selectors.Resource{apples}, []string{"a", "b"}, "b", false},
		{"in another version", []selectors.Resource{later}, nil, "", false},
		{"no resource", nil, nil, "", true},
		{"no namespace", []selectors.Resource{apples}, []string{"a"}, "b", true},
		{"no namespaces", []selectors.Resource{apples}, []string{}, "b", true},
	} {
		o := &Observer{Orchestrator: newTestOrchestrator(&streams{})}
		o.remember(tt.found)
		o.Orchestrator.Namespaces = tt.namespaces
		if gone := o.Gone(dimensions.Dimension{Resource: apples, Namespace: tt.namespace}); gone != tt.gone {
			t.Errorf("%s: gone: %t", tt.name, gone)
		}
	}
	o := &Observer{Orchestrator: newTestOrchestrator(&streams{}), Territory: existing{"b"}}
	o.remember([]selectors.Resource{apples})
	o.Orchestrator.Namespaces = []string{"a"}
	for name, exists := range map[string]bool{"b": true, "c": false} {
		d := dimensions.Dimension{Resource: apples, Namespace: name}
		if o.Left(d) != exists || o.Gone(d) == exists {
			t.Errorf("the namespace %s of the territory: left: %t, gone: %t", name, o.Left(d), o.Gone(d))
		}
	}
}

// existing is a territory without namespaces, in a cluster with one.
type existing struct{ name string }

func (existing) Names() []string { return nil }

func (existing) Follow(context.Context, func([]string)) error { return nil }

func (e existing) Exists(name string) bool { return name == e.name }

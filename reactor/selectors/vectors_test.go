package selectors

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/abi"
)

// vector is one recorded call of the reference.
type vector struct {
	In    json.RawMessage
	Out   json.RawMessage
	Error string
}

// eachVector runs the recorded calls of one function.
func eachVector(t *testing.T, name string, run func(t *testing.T, v vector)) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "test", "conformance", "vectors", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []vector }
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) == 0 {
		t.Fatalf("no vectors in %s", name)
	}
	for _, v := range file.Cases {
		t.Run(strings.Trim(string(v.In), "{}"), func(t *testing.T) { run(t, v) })
	}
}

func parse(t *testing.T, raw json.RawMessage, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
}

// recorded are the resources that the selectors were recorded with.
var recorded = []Resource{
	{Group: "", Version: "v1", Plural: "pods", Kind: "Pod", Singular: "pod", Shortcuts: []string{"po"}, Categories: []string{"all"}, Namespaced: true, Preferred: true},
	{Group: "metrics.k8s.io", Version: "v1beta1", Plural: "pods", Kind: "PodMetrics", Namespaced: true, Preferred: true},
	{Group: "", Version: "v1", Plural: "events", Kind: "Event", Namespaced: true, Preferred: true},
	{Group: "events.k8s.io", Version: "v1", Plural: "events", Kind: "Event", Namespaced: true, Preferred: true},
	{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Singular: "kopfexample", Shortcuts: []string{"kex"}, Categories: []string{"all", "kopf"}, Namespaced: true, Preferred: true},
	{Group: "kopf.dev", Version: "v1beta1", Plural: "kopfexamples", Kind: "KopfExample", Singular: "kopfexample", Shortcuts: []string{"kex"}, Categories: []string{"all", "kopf"}, Namespaced: true},
	{Group: "other.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Singular: "kopfexample", Namespaced: true, Preferred: true},
	{Group: "kopf.dev", Version: "v1", Plural: "globals", Kind: "Global", Preferred: true},
}

func names(resources []Resource) []string {
	list := []string{}
	for _, r := range resources {
		list = append(list, r.String())
	}
	return list
}

func checked(s Selector) []Resource {
	return slices.DeleteFunc(slices.Clone(recorded), func(r Resource) bool { return !s.Check(r) })
}

// specOf is the selector of a vector, where a function stands for a callback.
func specOf(t *testing.T, raw json.RawMessage) abi.Selector {
	t.Helper()
	var in struct {
		Args   []abi.Raw
		Kwargs json.RawMessage
	}
	parse(t, raw, &in)
	var spec abi.Selector
	parse(t, in.Kwargs, &spec)
	if len(in.Args) == 1 && strings.Contains(string(in.Args[0]), "$fn") {
		return abi.Selector{Function: true}
	}
	spec.Args = in.Args
	return spec
}

// fields are the parts of a selector as its text shows them.
func fields(s Selector) map[string]any {
	found := map[string]any{}
	for _, part := range regexp.MustCompile(`(\w+)='([^']*)'`).FindAllStringSubmatch(s.String(), -1) {
		found[part[1]] = part[2]
	}
	if strings.Contains(s.String(), "any_name=EVERYTHING") {
		found["any_name"] = map[string]any{"$": "EVERYTHING"}
	}
	return found
}

func TestSelectorsAsRecorded(t *testing.T) {
	type outcome struct {
		Fields   map[string]any
		Specific bool
		Check    []string
		Select   []string
	}
	eachVector(t, "resource-selectors", func(t *testing.T, v vector) {
		s, err := Parse(specOf(t, v.In))
		if (err != nil) != (v.Error != "") {
			t.Fatalf("got error %v, recorded %q", err, v.Error)
		}
		if err != nil {
			return
		}
		s = s.Bind(func(r Resource) bool { return r.Group == "kopf.dev" })
		got := outcome{fields(s), s.IsSpecific(), names(checked(s)), names(s.Select(recorded))}
		var want outcome
		parse(t, v.Out, &want)
		slices.Sort(got.Select)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("unlike the reference (-want +got):\n%s", diff)
		}
	})
}

func TestURLsAsRecorded(t *testing.T) {
	eachVector(t, "resource-urls", func(t *testing.T, v vector) {
		var in struct{ Resource, Namespace, Name, Subresource string }
		parse(t, v.In, &in)
		i := slices.IndexFunc(recorded, func(r Resource) bool { return r.String() == in.Resource })
		url, err := recorded[i].URL(in.Namespace, in.Name, in.Subresource)
		if (err != nil) != (v.Error != "") {
			t.Fatalf("got error %v, recorded %q", err, v.Error)
		}
		if err != nil {
			return
		}
		var want string
		parse(t, v.Out, &want)
		if url != want {
			t.Errorf("got %s, want %s", url, want)
		}
	})
}

func TestNamespacesAsRecorded(t *testing.T) {
	eachVector(t, "namespace-patterns", func(t *testing.T, v vector) {
		var in struct {
			Pattern         string
			Names, Patterns []string
		}
		parse(t, v.In, &in)
		var want []string
		parse(t, v.Out, &want)
		got := ParseNamespaces(in.Patterns).Exact()
		if in.Patterns == nil {
			pattern := ParseNamespacePattern(in.Pattern)
			got = slices.DeleteFunc(slices.Clone(in.Names), func(name string) bool { return !pattern.Match(name) })
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

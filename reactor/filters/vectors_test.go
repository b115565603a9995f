package filters

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
)

// vector is one recorded call of the reference.
type vector struct {
	In  map[string]json.RawMessage
	Out recordedMatch
}

type recordedMatch struct{ Match, Prematch bool }

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
		name, _ := json.Marshal(v.In)
		t.Run(strings.Trim(string(name), "{}"), func(t *testing.T) { run(t, v) })
	}
}

// recordedFn is a callback of a vector.
type recordedFn struct {
	Name string `json:"$fn"`
	Arg  any
}

// holds is what the callback answered in the recording. Fields that are absent
// were seen there as an object that is true and equals nothing, absent labels
// and annotations as null.
func (f recordedFn) holds(t *testing.T, option string, v abi.Value) bool {
	t.Helper()
	if v.Absent && option != "labels" && option != "annotations" {
		return f.Name == "truthy"
	}
	var value any
	if !v.Absent {
		unmarshal(t, json.RawMessage(v.Value), &value)
	}
	switch f.Name {
	case "eq":
		return cmp.Equal(f.Arg, value)
	case "is_none":
		return value == nil
	case "truthy":
		return value != nil && value != "" && value != false && value != 0.0 && !cmp.Equal(value, map[string]any{})
	default:
		t.Fatalf("unknown callback %q", f.Name)
		return false
	}
}

// guest answers for the callbacks of one handler, by option or option and key.
type guest map[string]recordedFn

// take replaces a callback by the marker for functions.
func (g guest) take(t *testing.T, name string, raw json.RawMessage) abi.Raw {
	t.Helper()
	if !strings.Contains(string(raw), "$fn") {
		return abi.Raw(raw)
	}
	var fn recordedFn
	unmarshal(t, raw, &fn)
	g[name] = fn
	return abi.Raw(abi.Function)
}

func (g guest) takeAll(t *testing.T, option string, raw json.RawMessage) map[string]abi.Raw {
	t.Helper()
	var all map[string]json.RawMessage
	if raw != nil {
		unmarshal(t, raw, &all)
	}
	filters := map[string]abi.Raw{}
	for key, raw := range all {
		filters[key] = g.take(t, option+key, raw)
	}
	return filters
}

// settle asks for what is open.
func (g guest) settle(t *testing.T, r Result) bool {
	t.Helper()
	if (r.Decision == Open) != (len(r.Callbacks) > 0) {
		t.Errorf("decision %v with %d callbacks", r.Decision, len(r.Callbacks))
	}
	for _, callback := range r.Callbacks {
		fn, ok := g[callback.Option+callback.Key]
		if !ok {
			t.Errorf("asked for %s %s, which is no function", callback.Option, callback.Key)
		}
		holds := false
		for _, value := range callback.Values {
			holds = holds || fn.holds(t, callback.Option, value)
		}
		if !holds {
			return false
		}
	}
	return r.Decision != No
}

func unmarshal(t *testing.T, raw json.RawMessage, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
}

func document(t *testing.T, raw json.RawMessage) any {
	t.Helper()
	doc, err := dicts.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// check compares the verdicts with the recorded ones.
func (g guest) check(t *testing.T, h abi.Handler, s Subject, want recordedMatch) {
	t.Helper()
	criteria, err := Parse(h)
	if err != nil {
		t.Fatal(err)
	}
	got := recordedMatch{g.settle(t, criteria.Match(s)), g.settle(t, criteria.Prematch(s))}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestMetadataAsRecorded(t *testing.T) {
	eachVector(t, "filters-metadata", func(t *testing.T, v vector) {
		g := guest{}
		body, _ := document(t, v.In["body"]).(dicts.Object)
		h := abi.Handler{Kind: abi.KindCreate,
			Labels: g.takeAll(t, "labels", v.In["labels"]), Annotations: g.takeAll(t, "annotations", v.In["annotations"])}
		g.check(t, h, Subject{Body: body, Changing: true, New: body}, v.Out)
	})
}

// essences are the states before and after of a vector.
func essences(t *testing.T, v vector) Subject {
	t.Helper()
	return Subject{Changing: true, Old: document(t, v.In["old_essence"]), New: document(t, v.In["new_essence"])}
}

func fieldOf(t *testing.T, v vector) []string {
	t.Helper()
	var field string
	unmarshal(t, v.In["field"], &field)
	return strings.Split(field, ".")
}

func TestValuesAsRecorded(t *testing.T) {
	eachVector(t, "filters-values", func(t *testing.T, v vector) {
		g := guest{}
		h := abi.Handler{Kind: abi.KindCreate, Field: fieldOf(t, v), Value: g.take(t, "value", v.In["value"])}
		g.check(t, h, essences(t, v), v.Out)
	})
}

func TestChangesAsRecorded(t *testing.T) {
	eachVector(t, "filters-changes", func(t *testing.T, v vector) {
		g := guest{}
		h := abi.Handler{Kind: abi.KindUpdate, Field: fieldOf(t, v),
			Old: g.take(t, "old", v.In["old"]), New: g.take(t, "new", v.In["new"])}
		g.check(t, h, essences(t, v), v.Out)
	})
}

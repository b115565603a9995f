package stores_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/stores"
)

// ownStorages are pairs of storages that take undecoded bodies.
var ownStorages = []struct {
	progress stores.ProgressStorage
	diffBase stores.DiffBaseStorage
}{
	{stores.DefaultProgressStorage(), stores.DefaultDiffBaseStorage()},
	{stores.NewStatusProgress(stores.StatusProgressOptions{}), stores.NewStatusDiffBase(stores.StatusDiffBaseOptions{})},
	{
		stores.NewStatusProgress(stores.StatusProgressOptions{Field: stores.Path{"spec", "progress"}}),
		stores.NewAnnotationsDiffBase(stores.AnnotationsDiffBaseOptions{IgnoredFields: []stores.Path{{"spec", "x", "y"}, {"data"}}}),
	},
	{stores.DefaultProgressStorage(), stores.MultiDiffBase{stores.DefaultDiffBaseStorage(), stores.NewStatusDiffBase(stores.StatusDiffBaseOptions{})}},
}

// FuzzBodies: storages do with undecoded bodies what they do with decoded ones.
func FuzzBodies(f *testing.F) {
	raw, err := os.ReadFile("testdata/kopf.json")
	if err != nil {
		f.Fatal(err)
	}
	var recorded struct{ Objects map[string]json.RawMessage }
	if err := json.Unmarshal(raw, &recorded); err != nil {
		f.Fatal(err)
	}
	for _, object := range recorded.Objects {
		f.Add([]byte(object))
		doc, err := dicts.Decode(object)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(dicts.Encode(doc)) // as an API server sends it
	}
	text := strings.Repeat(`{\"a\":1}`, 20)
	f.Add([]byte(`{"metadata":{"annotations":{"kopf.zalando.org/last-handled-configuration":"{\"spec\":{\"x\":\"` + strings.Repeat("y", 100) + `\"}}\n"}},"spec":{"x":"` + strings.Repeat("y", 100) + `"}}`))
	f.Add([]byte(`{"metadata":{"annotations":{"kopf.zalando.org/fn":"` + text + `","other":"` + text + `"},"name":"n"},"spec":{"x":1},"status":{}}`))
	f.Add([]byte(`{"spec":{"x":{"y":1,"z":2},"progress":{"fn":{"retries":1}}},"data":[1],"status":{"kopf":{"last-handled-configuration":"{\"spec\":{}}"},"x":1}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		everything := func(string, string) bool { return true }
		want, err := dicts.DecodeParts(raw, everything)
		if err != nil {
			return
		}
		got, err := dicts.DecodeBody(raw, everything)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range ownStorages {
			for _, extra := range [][]stores.Path{nil, {{"status", "x"}, {"spec", "x"}}, {{"metadata"}, {"status"}}} {
				if got, want := stored(t, i, got, extra), stored(t, i, want, extra); got != want {
					t.Fatalf("%s, extra fields %v:\ngot  %s\nwant %s", raw, extra, got, want)
				}
			}
			if !stores.AreOwn(s.progress, s.diffBase) {
				t.Errorf("storages %d are not taken for own ones", i)
			}
		}
	})
}

// stored describes all that storages read from a body and write about it.
func stored(t *testing.T, index int, body stores.Object, extra []stores.Path) string {
	t.Helper()
	s, all := ownStorages[index], dicts.Object{}
	note := func(what string, value any, err error) {
		if err != nil {
			value = err.Error()
		}
		all[what] = string(dicts.Encode(value))
	}
	var patch stores.Patch
	essence, err := s.diffBase.Build(body, extra)
	note("built", essence, err)
	if err != nil {
		return string(dicts.Encode(all))
	}
	if essence, err = s.progress.Clear(essence); err != nil {
		note("cleared", nil, err)
		return string(dicts.Encode(all))
	}
	note("cleared", essence, nil)
	if holder, ok := s.diffBase.(stores.EssenceHolder); ok {
		note("held", holder.Holds(body, essence), nil)
	}
	old, err := s.diffBase.Fetch(body)
	note("fetched", old, err)
	note("stored", nil, s.diffBase.Store(body, &patch, essence))
	record, err := s.progress.Fetch(body, "fn")
	note("record", record == nil, err)
	note("recorded", nil, s.progress.Store("fn", stores.Record{}, body, &patch))
	note("purged", nil, s.progress.Purge("other", body, &patch))
	note("touched", nil, s.progress.Touch(body, &patch, nil))
	text, err := patch.Encode(patch.Object())
	note("patch", string(text), err)
	return string(dicts.Encode(all))
}

// foreign is a storage of another package.
type foreign struct{ stores.ProgressStorage }

func TestForeignStorages(t *testing.T) {
	inner := foreign{stores.DefaultProgressStorage()}
	for _, progress := range []stores.ProgressStorage{inner, &inner, stores.MultiProgress{stores.DefaultProgressStorage(), inner}, nil} {
		if stores.AreOwn(progress, stores.DefaultDiffBaseStorage()) {
			t.Errorf("%T is taken for a storage of this package", progress)
		}
	}
}

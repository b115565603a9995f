package stores_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/stores"
)

func TestNamesOfLongIDs(t *testing.T) {
	id := strings.Repeat("x", 46) // too long together with the prefix, but not alone
	naming, err := stores.NewNaming("kopf.zalando.org", true)
	must(t, err)
	want := []string{"kopf.zalando.org/" + id, "kopf.zalando.org/" + id + "x"}
	if diff := cmp.Diff(want[:1], naming.Keys(id, nil)); diff != "" {
		t.Errorf("46 characters (-want +got):\n%s", diff)
	}
	keys := naming.Keys(id+"x", nil)
	if len(keys) != 2 || keys[0] != want[1] || len(keys[1]) != 63 {
		t.Errorf("47 characters: got %q, want the full name and one of 63 characters", keys)
	}
	if _, err := stores.NewNaming("", true); err == nil {
		t.Error("a naming without a prefix is possible")
	}
}

func TestPatchesThatCannotTakeTheState(t *testing.T) {
	patch := func() *stores.Patch {
		patch := &stores.Patch{}
		patch.Merge(stores.Object{"metadata": nil, "status": "gone"})
		return patch
	}
	progress := stores.NewStatusProgress(stores.StatusProgressOptions{})
	wantError(t, progress.Store("fn", stores.Record{}, nil, patch()), "status holds a string")
	wantError(t, stores.DefaultProgressStorage().Store("fn", stores.Record{}, nil, patch()), "kopf.zalando.org/fn: not an object")
	wantError(t, stores.DefaultDiffBaseStorage().Store(nil, patch(), stores.Object{}), "last-handled-configuration: not an object")
}

func TestTimes(t *testing.T) {
	moment := time.Date(2020, 1, 2, 3, 4, 5, 678999, time.FixedZone("", -3*3600))
	if got, want := stores.FormatTime(moment), "2020-01-02T03:04:05.000678-03:00"; got != want {
		t.Errorf("formatted: got %s, want %s", got, want)
	}
	parsed, aware, err := stores.ParseTime("2020-01-02T03:04:05.000678-03:00")
	if err != nil || !aware || !parsed.Equal(moment.Truncate(time.Microsecond)) {
		t.Errorf("parsed: got %v, %v, %v", parsed, aware, err)
	}
	naive, aware, err := stores.ParseTime("2020-01-02T03:04:05")
	if err != nil || aware || !naive.Equal(time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)) {
		t.Errorf("without a zone: got %v, %v, %v", naive, aware, err)
	}
}

func TestAnnotationsLimit(t *testing.T) {
	const key = "kopf.zalando.org/fn"
	fitting := strings.Repeat("x", stores.AnnotationsLimit-len(key))
	tests := []struct {
		name        string
		body, patch stores.Object
		fits        bool
	}{
		{"just fits", annotated(key, fitting), nil, true},
		{"too large already", annotated(key, fitting+"x"), nil, false},
		{"too large with the patch", annotated(key, fitting), annotated("a", ""), false},
		{"replaced", annotated(key, fitting), annotated(key, fitting), true},
		{"removed", annotated(key, fitting+"x"), annotated(key, nil), true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			patch := &stores.Patch{}
			patch.Merge(test.patch)
			err := stores.CheckAnnotations(test.body, patch)
			if (err == nil) != test.fits {
				t.Errorf("got the error %v", err)
			}
			if err != nil {
				wantError(t, err, "status")
			}
		})
	}
}

func BenchmarkEssence(b *testing.B) {
	body, err := dicts.DecodeObject([]byte(`{"apiVersion": "kopf.dev/v1", "kind": "KopfExample", "metadata": {"name": "n", "namespace": "ns",
		"uid": "u", "resourceVersion": "123", "generation": 1, "labels": {"a": "b"}, "annotations": {"x": "y", "kopf.zalando.org/fn": "{}"}},
		"spec": {"field": "value", "items": [1, 2, {"a": "b"}], "nested": {"a": {"b": {"c": "d"}}}, "text": "` + strings.Repeat("x", 600) + `"}}`))
	if err != nil {
		b.Fatal(err)
	}
	progress, diffBase := stores.DefaultProgressStorage(), stores.DefaultDiffBaseStorage()
	for b.Loop() {
		essence, err := diffBase.Build(body, nil)
		if err == nil {
			essence, err = progress.Clear(essence)
		}
		if err == nil {
			err = diffBase.Store(body, &stores.Patch{}, essence)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

func TestUnchangedEssenceIsRecognised(t *testing.T) {
	const annotation = "kopf.zalando.org/last-handled-configuration"
	storage := stores.NewAnnotationsDiffBase(stores.AnnotationsDiffBaseOptions{})
	essence := stores.Object{"spec": stores.Object{"b": "ü", "a": []any{}}}
	bodyWith := func(value any) stores.Object {
		return stores.Object{"metadata": stores.Object{"annotations": stores.Object{annotation: value}}}
	}
	patch := &stores.Patch{}
	must(t, storage.Store(stores.Object{}, patch, essence))
	stored, _ := patch.Lookup("metadata", "annotations", annotation)
	for _, tt := range []struct {
		name string
		body stores.Object
		want bool
	}{
		{"as it was stored", bodyWith(stored), true},
		{"another order of keys", bodyWith(`{"spec":{"b":"ü","a":[]}}`), false},
		{"something else", bodyWith(`{"spec":{"a":[]}}` + "\n"), false},
		{"never stored", stores.Object{}, false},
		{"no text", bodyWith(stores.Object{}), false},
	} {
		if got := storage.Holds(tt.body, essence); got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.name, got, tt.want)
		}
	}
}

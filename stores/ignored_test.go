package stores_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/stores"
)

// TestIgnoredFieldsAreRemovedTogether: as one after the other, and the body does not change.
func TestIgnoredFieldsAreRemovedTogether(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var value func(depth int) any
	value = func(depth int) any {
		if depth == 0 || random.IntN(4) == 0 {
			return []any{"text", nil, dicts.Object{}, []any{}}[random.IntN(4)]
		}
		object := dicts.Object{}
		for range random.IntN(4) {
			object[string(rune('a'+random.IntN(3)))] = value(depth - 1)
		}
		return object
	}
	for range 5000 {
		body := dicts.Object{"a": value(3), "b": value(3)}
		var ignored []stores.Path
		for range 1 + random.IntN(4) {
			var path stores.Path
			for range 1 + random.IntN(4) {
				path = append(path, string(rune('a'+random.IntN(3))))
			}
			ignored = append(ignored, path)
		}
		want, before := dicts.Clone(body).(dicts.Object), dicts.Clone(body)
		for _, path := range ignored {
			_ = dicts.Remove(want, path) // what leads through other values is not removed
		}
		got, err := stores.BuildEssence(body, nil, ignored)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("%v without %v: %v (-want +got):\n%s", before, ignored, err, diff)
		}
		if diff := cmp.Diff(before, any(body)); diff != "" {
			t.Fatalf("the body has changed without %v (-want +got):\n%s", ignored, diff)
		}
	}
}

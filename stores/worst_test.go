package stores_test

import (
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
	"github.com/kopf-wasm/kopf/stores"
)

// TestWorstMerges: the time for merging two patches does not depend on how deep they are
// nested. Two patches of 12 KB that were 2,000 levels deep once took 22 seconds.
func TestWorstMerges(t *testing.T) {
	const deepest = 9_990 // encoding/json refuses more than 10,000
	text := strings.Repeat(`{"a":`, deepest) + "1" + strings.Repeat("}", deepest)
	boundedtest.Parse(t, "nested objects", []byte(text), func(input []byte) error {
		changes := document(t, string(input))
		var patch stores.Patch
		patch.Merge(changes)
		patch.Merge(changes)
		path := make(stores.Path, deepest)
		for i := range path {
			path[i] = "a"
		}
		if err := patch.Set(path, 2); err != nil {
			return err
		}
		encoded, err := patch.Encode(patch.Object())
		if want := strings.Replace(text, "1", "2", 1); err == nil && string(encoded) != want {
			t.Errorf("got %d bytes, want %d", len(encoded), len(want))
		}
		return err
	})
}

package diffs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/diffs"
)

// deep returns an object in the innermost of many objects, with fields of the given value.
func deep(depth, fields int, value any) string {
	list := make([]string, fields)
	for i := range list {
		list[i] = fmt.Sprintf(`"%d":%v`, i, value)
	}
	return strings.Repeat(`{"a":`, depth) + "{" + strings.Join(list, ",") + "}" + strings.Repeat("}", depth)
}

// TestWorstDiffs: the memory for a diff depends on the size of the objects, but not on their
// depth. Users of the cluster write the objects.
func TestWorstDiffs(t *testing.T) {
	const deepest = 9_900 // encoding/json refuses more than 10,000
	for _, tt := range []struct{ name, old, new string }{
		{"changes", deep(deepest, 50_000, 1), deep(deepest, 50_000, 2)},
		{"additions", deep(deepest, 0, 1), deep(deepest, 50_000, 1)},
		{"removals", deep(deepest, 50_000, 1), deep(deepest, 0, 1)},
	} {
		boundedtest.Parse(t, tt.name, []byte("["+tt.old+","+tt.new+"]"), func(input []byte) error {
			pair := decode(t, string(input)).([]any)
			diff := diffs.Compute(pair[0], pair[1], diffs.Full)
			if len(diff) == 0 {
				t.Error("no differences")
			}
			if text := dicts.Encode(diff.JSON()); len(text) > 48<<20 {
				t.Errorf("the diff has %d MiB", len(text)>>20)
			}
			return nil
		})
	}
}

// TestLargeDiffs lists an object with too many changes as changed as a whole. Fields of it are
// found all the same.
func TestLargeDiffs(t *testing.T) {
	old := decode(t, `{"other":1,"many":`+deep(200, 50_000, 1)+`}`)
	new := decode(t, `{"other":2,"many":`+deep(200, 50_000, 2)+`}`)
	diff := diffs.Compute(old, new, diffs.Full)
	if len(diff) != 2 || len(diff[0].Path) < 100 || diff[0].Op != diffs.Change || diff[1].Path.String() != "other" {
		t.Fatalf("%d items, the first at %d keys", len(diff), len(diff[0].Path))
	}
	path := append(append(dicts.Path{}, diff[0].Path...), "49999")
	for len(path) < 202 {
		path = append(path[:len(path)-1], "a", "49999")
	}
	want(t, `[["change",[],1,2]]`, diffs.Reduce(diff, path))
}

package patches

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
	"github.com/kopf-wasm/kopf/internal/dicts"
)

// The depth of documents is bounded by encoding/json alone, at 10,000.
const deepest = 9_990

// nested returns a document in the innermost of many objects or lists.
func nested(depth int, before, inner, after string) string {
	return strings.Repeat(before, depth) + inner + strings.Repeat(after, depth)
}

// fields returns an object with many equal fields.
func fields(count int, value string) string {
	list := make([]string, count)
	for i := range list {
		list[i] = fmt.Sprintf(`"%d":%s`, i, value)
	}
	return "{" + strings.Join(list, ",") + "}"
}

// TestWorstDiffs: the memory for a patch depends on the size of the documents, but not on
// their depth. Users of the cluster write objects, and guests write patches.
func TestWorstDiffs(t *testing.T) {
	long := strings.Repeat("k", 100)
	listOf := func(first int) string {
		items := make([]string, 1000)
		for i := range items {
			items[i] = strconv.Itoa(first + i)
		}
		return "[" + strings.Join(items, ",") + "],"
	}
	for _, tt := range []struct{ name, from, to string }{
		{"equal lists, nested", nested(deepest, "[", `"`+strings.Repeat("x", 1<<20)+`"`, "]"), ""},
		{"nested lists whose innermost item changes", nested(deepest, "[", `"`+strings.Repeat("x", 1<<20)+`"`, "]"), nested(deepest, "[", "1", "]")},
		{"nested lists that all get another item", nested(deepest, "[0,", `"`+strings.Repeat("x", 1<<20)+`"`, "]"), nested(deepest, "[1,0,", `"`+strings.Repeat("x", 1<<20)+`"`, "]")},
		{"many lists of many items", "[" + strings.Repeat(listOf(1000), 60) + "0]", "[" + strings.Repeat(listOf(1500), 60) + "0]"},
		{"equal objects with long keys", nested(deepest, `{"`+long+`":`, "1", "}"), ""},
		{"many fields far below", nested(deepest, `{"a":`, fields(50_000, "1"), "}"), nested(deepest, `{"a":`, fields(50_000, "2"), "}")},
		{"many fields far below, which go", nested(deepest, `{"a":`, fields(50_000, "1"), "}"), nested(deepest, `{"a":`, "{}", "}")},
		{"many fields far below, which come", nested(deepest, `{"a":`, "{}", "}"), nested(deepest, `{"a":`, fields(50_000, "2"), "}")},
		{"many fields of a field with a long name", `{"` + strings.Repeat("k", 256<<10) + `":` + fields(20_000, "1") + "}", `{"` + strings.Repeat("k", 256<<10) + `":{}}`},
		{"many items of a field with a long name", `{"` + strings.Repeat("k", 256<<10) + `":[` + strings.Repeat("1,", 20_000) + "1]}", `{"` + strings.Repeat("k", 256<<10) + `":[1]}`},
	} {
		if tt.to == "" {
			tt.to = tt.from
		}
		boundedtest.Parse(t, tt.name, []byte("["+tt.from+","+tt.to+"]"), func(input []byte) error {
			both, err := dicts.Decode(input)
			if err != nil {
				return err
			}
			pair := both.([]any)
			if operations := Diff(pair[0], pair[1]); (len(operations) == 0) != (tt.from == tt.to) {
				t.Errorf("%s: %d operations", tt.name, len(operations))
			}
			return nil
		})
	}
}

// TestWorstMerges: the time and memory for applying a merge patch do not depend on its depth.
func TestWorstMerges(t *testing.T) {
	for _, patch := range []string{
		nested(deepest, `{"a":`, fields(50_000, "1"), "}"),
		nested(deepest, `{"a":`, fields(50_000, "null"), "}"),
		nested(deepest, `{"`+strings.Repeat("k", 100)+`":`, "1", "}"),
	} {
		boundedtest.Parse(t, patch[:20], []byte(patch), func(input []byte) error {
			object, err := dicts.DecodeObject(input)
			if err != nil {
				return err
			}
			_, err = Apply(object, object)
			return err
		})
	}
}

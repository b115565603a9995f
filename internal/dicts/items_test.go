package dicts_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

func itemsOf(list []byte) []string {
	var items []string
	for item := range dicts.Items(list) {
		items = append(items, string(item))
	}
	return items
}

func TestItems(t *testing.T) {
	for _, list := range itemSeeds {
		checkItems(t, []byte(list))
	}
	for range dicts.Items([]byte("[1,2]")) {
		break
	}
}

var itemSeeds = []string{"", "[]", " [ ] ", "[1]", `[ {"a":[1,2]} , [3,{}],"],[\"\\", null]`, "[[],[[]]]", `["\u005d"]`, "[{},{}]"}

func checkItems(t *testing.T, list []byte) {
	t.Helper()
	var raw []json.RawMessage
	if len(list) > 0 && json.Unmarshal(list, &raw) != nil || len(list) > 0 && raw == nil {
		return
	}
	var want []string
	for _, item := range raw {
		want = append(want, string(item))
	}
	if got := itemsOf(list); !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", list, got, want)
	}
}

func FuzzItems(f *testing.F) {
	for _, list := range itemSeeds {
		f.Add([]byte(list))
	}
	f.Fuzz(checkItems)
}

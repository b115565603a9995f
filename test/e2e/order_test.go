package e2e_test

import (
	"cmp"
	"encoding/json"
	"slices"
)

// sorted returns a sorted copy.
func sorted[T cmp.Ordered](items []T) []T {
	items = slices.Clone(items)
	slices.Sort(items)
	return items
}

// sortedItems returns a copy of a list, sorted by the JSON of the items: the
// order of the items of a diff means nothing.
func sortedItems(items []any) []string {
	texts := make([]string, len(items))
	for i, item := range items {
		text, err := json.Marshal(item)
		if err != nil {
			panic(err)
		}
		texts[i] = string(text)
	}
	return sorted(texts)
}

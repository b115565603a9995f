// Package spelling compares words that people type with those that exist.
package spelling

import (
	"slices"
	"strings"
)

// Meant returns a question about the candidate that is most similar to a mistyped word, or
// else the list of all candidates.
func Meant(word string, candidates []string) string {
	if len(candidates) == 0 {
		return ""
	}
	best, least := "", len(word)/2+2
	for _, candidate := range candidates {
		if d := Distance(strings.ToLower(word), strings.ToLower(candidate)); d < least {
			best, least = candidate, d
		}
	}
	if best != "" {
		return ": did you mean " + best + "?"
	}
	sorted := slices.Sorted(slices.Values(candidates))
	return ": it must be one of " + strings.Join(slices.Compact(sorted), ", ")
}

// longest bounds how much of a word is compared, in bytes: more than a name in Kubernetes has with its namespace.
const longest = 512

// Distance returns how many letters must be inserted, removed or replaced to turn one word into another (the Levenshtein
// distance, in bytes). It compares the first 512 bytes.
func Distance(a, b string) int {
	a, b = a[:min(len(a), longest)], b[:min(len(b), longest)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

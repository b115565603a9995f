package dicts

import (
	"bytes"
	"iter"
)

// Items returns the texts of the items of a list, which share memory with it. The text must be
// a valid JSON list, or empty. Nothing is decoded.
func Items(list []byte) iter.Seq[[]byte] {
	return func(yield func(item []byte) bool) {
		depth, start := 0, 0
		for i := 0; i < len(list); i++ {
			switch list[i] {
			case '"':
				i = endOfText(list, i+1)
				continue
			case '{', '[':
				if depth++; depth == 1 {
					start = i + 1
				}
				continue
			case '}', ']':
				depth--
			case ',':
			default:
				continue
			}
			ends := depth == 0 || depth == 1 && list[i] == ','
			if !ends {
				continue
			}
			if item := bytes.TrimSpace(list[start:i]); len(item) > 0 && !yield(item) {
				return
			}
			start = i + 1
		}
	}
}

// List returns the items as a list of a document.
func List[T any](items []T) []any {
	list := make([]any, len(items))
	for i, item := range items {
		list[i] = item
	}
	return list
}

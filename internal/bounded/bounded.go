// Package bounded refuses foreign JSON that would take far more memory than it has bytes: a few
// megabytes of empty objects become hundreds when they are decoded. It looks at the text
// only once and allocates nothing, so it comes before any decoder.
package bounded

import (
	"bytes"
	"errors"
	"fmt"
)

// ErrTooMuch is in the errors about documents with too many values, or nested too deeply.
var ErrTooMuch = errors.New("too much")

// maxDepth is how deeply documents nest at most. Whatever people write is far below.
const maxDepth = 500

// JSON refuses a document with more values than allowed, members of objects and elements of lists
// included, or with more than 500 levels. Whether it is JSON at all is for the decoder to see: what
// is not, is counted as if it were.
//
// Errors: ErrTooMuch.
func JSON(document []byte, maxValues int) error {
	values, depth := 1, 0
	for i := 0; i < len(document); i++ {
		switch document[i] {
		case '"':
			i += text(document[i+1:])
		case '{', '[':
			if depth++; depth > maxDepth {
				return fmt.Errorf("%w: more than %d levels of nesting", ErrTooMuch, maxDepth)
			}
			values++
		case '}', ']':
			depth--
		case ',':
			values++
		}
		if values > maxValues {
			return fmt.Errorf("%w: more than %d values", ErrTooMuch, maxValues)
		}
	}
	return nil
}

// text is the length of a string, with the quote at its end.
func text(rest []byte) int {
	for i := 0; i < len(rest); {
		next := bytes.IndexAny(rest[i:], `"\`)
		switch {
		case next < 0:
			return len(rest)
		case rest[i+next] == '"':
			return i + next + 1
		}
		i += next + 2 // what is escaped is skipped
	}
	return len(rest)
}

// Package bounded refuses foreign JSON that would take far more memory than it has bytes: a few
// megabytes of empty objects become hundreds when they are decoded. It looks at the text
// only once and allocates nothing, so it comes before any decoder.
package bounded

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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
	c := counter{values: 1, limit: maxValues}
	return c.add(document)
}

// Reader reads what the other reader does, until that is more than JSON accepts. The error is ErrTooMuch then, and
// nothing of the last part is returned.
func Reader(from io.Reader, maxValues int) io.Reader {
	return &reader{from: from, counter: counter{values: 1, limit: maxValues}}
}

type reader struct {
	from    io.Reader
	counter counter
	failed  error
}

func (r *reader) Read(p []byte) (int, error) {
	if r.failed != nil {
		return 0, r.failed
	}
	n, err := r.from.Read(p)
	if r.failed = r.counter.add(p[:n]); r.failed != nil {
		return 0, r.failed
	}
	return n, err
}

// counter counts the values of a document that comes in parts.
type counter struct {
	values, limit, depth int
	inText, escaped      bool // within a string; behind a backslash in it
}

func (c *counter) add(part []byte) error {
	for i := 0; i < len(part); i++ {
		if c.inText {
			i += c.text(part[i:]) - 1
			continue
		}
		switch part[i] {
		case '"':
			c.inText = true
		case '{', '[':
			if c.depth++; c.depth > maxDepth {
				return fmt.Errorf("%w: more than %d levels of nesting", ErrTooMuch, maxDepth)
			}
			c.values++
		case '}', ']':
			c.depth--
		case ',':
			c.values++
		}
		if c.values > c.limit {
			return fmt.Errorf("%w: more than %d values", ErrTooMuch, c.limit)
		}
	}
	return nil
}

// text is how much of the rest, which is not empty, belongs to a string, with the quote at its end.
func (c *counter) text(rest []byte) int {
	i := 0
	if c.escaped { // what is escaped is skipped
		c.escaped, i = false, 1
	}
	for i < len(rest) {
		next := bytes.IndexAny(rest[i:], `"\`)
		switch {
		case next < 0:
			return len(rest)
		case rest[i+next] == '"':
			c.inText = false
			return i + next + 1
		}
		c.escaped = i+next+2 > len(rest)
		i += next + 2
	}
	return len(rest)
}

// Package bounded refuses untrusted JSON that would take far more memory than its size: a
// few megabytes of empty objects become hundreds of megabytes when they are decoded. It
// scans the text once and allocates nothing. Call it before any decoder.
package bounded

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
)

// ErrTooMuch says that a document has too many values or too many levels.
var ErrTooMuch = errors.New("too much")

// maxDepth is the maximum nesting of documents. Real documents stay far below.
const maxDepth = 500

// JSON refuses a document with more values than allowed, or with more than 500 levels.
// Members of objects and elements of lists count as values. It does not validate the JSON:
// invalid text is counted as if it were valid.
//
// Errors: ErrTooMuch.
func JSON(document []byte, maxValues int) error {
	c := counter{values: 1, limit: maxValues}
	return c.add(document)
}

// Values returns the number of values of a document, as JSON counts them. The document must not have too many levels.
func Values(document []byte) int {
	c := counter{values: 1, limit: math.MaxInt}
	_ = c.add(document) // it has not too many levels
	return c.values
}

// Reader reads from another reader, until the content exceeds what JSON accepts. It then
// returns ErrTooMuch, and nothing of the last part.
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

// counter counts the values of a document that arrives in parts.
type counter struct {
	values, limit, depth int
	inText, escaped      bool // inside a string; after a backslash in a string
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

// text returns how much of the rest belongs to a string, including its closing quote. The
// rest is not empty.
func (c *counter) text(rest []byte) int {
	i := 0
	if c.escaped { // skip the escaped character
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

package watching

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// texts cuts a JSON text into the texts of its values while it arrives. It finds their ends, and decodes nothing: the caller checks
// each text.
type texts struct {
	from *bufio.Reader
	long []byte // a value that the buffer does not hold as a whole
}

func newTexts(r io.Reader) *texts {
	buffer := buffers.Get().(*bufio.Reader)
	buffer.Reset(r)
	return &texts{from: buffer}
}

// close ends the use of the buffer.
func (t *texts) close() {
	t.from.Reset(nil)
	buffers.Put(t.from)
}

// members calls a function at the start of each member of an object or a list, which must move past it.
func (t *texts) members(open, end byte, member func() error) error {
	if err := t.expect(open); err != nil {
		return err
	}
	if t.peek() == end {
		return t.expect(end)
	}
	for {
		if err := member(); err != nil {
			return err
		}
		if t.peek() == end {
			return t.expect(end)
		}
		if err := t.expect(','); err != nil {
			return err
		}
	}
}

// key returns the key of a member of an object, and moves past the colon.
func (t *texts) key() (key string, err error) {
	text, err := t.value()
	if err == nil {
		err = json.Unmarshal(text, &key)
	}
	if err == nil {
		err = t.expect(':')
	}
	return key, err
}

// peek skips blanks and returns the next byte, or zero at the end.
func (t *texts) peek() byte {
	for {
		switch next, err := t.from.Peek(1); {
		case err != nil:
			return 0
		case isBlank(next[0]):
			_, _ = t.from.Discard(1) // it is there
		default:
			return next[0]
		}
	}
}

// expect moves past one byte, and the blanks before it.
func (t *texts) expect(want byte) error {
	t.peek()
	got, err := t.from.ReadByte()
	switch {
	case err != nil:
		return ended(err)
	case got != want:
		return fmt.Errorf("%q where %q was expected", got, want)
	}
	return nil
}

// value returns the text of the next value, which the caller may keep.
//
// Errors: errLongItem; those of the reader, if it ends before the value does.
func (t *texts) value() ([]byte, error) {
	t.peek()
	t.long = t.long[:0]
	for end := (ending{}); ; {
		if _, err := t.from.Peek(1); err != nil {
			return nil, ended(err)
		}
		part, _ := t.from.Peek(t.from.Buffered()) // it is there
		length, done := end.find(part)
		if len(t.long)+length > maxLine {
			return nil, errLongItem
		}
		text := part[:length]
		if !done || len(t.long) > 0 {
			t.long = append(t.long, text...)
			text = t.long
		}
		if done {
			text = bytes.Clone(text)
		}
		if _, _ = t.from.Discard(length); done { // it is there
			return text, nil
		}
	}
}

var errLongItem = errors.New("an object in a listing is longer than 64 MiB")

// ended is the error of a text that ends too early.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// ending finds the end of a value in parts of it.
type ending struct {
	depth           int // of objects and lists
	quoted, escaped bool
}

// find returns how much of the part belongs to the value, and whether the value ends there.
func (e *ending) find(part []byte) (length int, done bool) {
	for i, c := range part {
		switch {
		case e.escaped:
			e.escaped = false
		case e.quoted && c == '\\':
			e.escaped = true
		case c == '"':
			if e.quoted = !e.quoted; !e.quoted && e.depth == 0 {
				return i + 1, true
			}
		case e.quoted:
		case c == '{' || c == '[':
			e.depth++
		case e.depth == 0 && (isBlank(c) || c == ',' || c == ':' || c == '}' || c == ']'):
			return i, true // of a number, true, false, or null
		case c == '}' || c == ']':
			if e.depth--; e.depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(part), false
}

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

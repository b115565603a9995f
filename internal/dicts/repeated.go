package dicts

import (
	"errors"
	"fmt"
)

var (
	// ErrRepeated says that an object has a key twice.
	ErrRepeated = errors.New("a key is repeated")

	errText = errors.New("it is not JSON in UTF-8")
)

// Unrepeated refuses a document in which an object has a key twice, at any level. Decoders differ in what it means: one takes
// the last value, another one merges both.
//
// Errors: ErrRepeated; the text is not JSON in UTF-8, or has more than 1000 levels.
func Unrepeated(text []byte) error {
	s := scanner{text: textOf(text)}
	if s.peek() == 0 {
		return errText
	}
	if err := s.unrepeated(0); err != nil {
		return err
	}
	if !s.end() {
		return errText
	}
	return nil
}

// unrepeated moves past a value.
func (s *scanner) unrepeated(depth int) (err error) {
	within := func() bool {
		err = s.unrepeated(depth + 1)
		return err == nil
	}
	ok := depth < maxDepth
	switch c := s.text[s.at]; {
	case !ok:
	case c == '{':
		known := map[string]bool{}
		ok = s.members(func(key string) bool {
			if known[key] {
				err = fmt.Errorf("%w: %.100q", ErrRepeated, key)
				return false
			}
			known[key] = true
			return within()
		})
	case c == '[':
		ok = s.items(within)
	default:
		ok = s.skip(depth)
	}
	if !ok && err == nil {
		err = errText
	}
	return err
}

package dicts

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxCovered is the maximum number of fields of an object for Covers.
const maxCovered = 16

// Covers reports whether a JSON object certainly has all values of a merge patch, and none of
// the fields that the patch removes. It decodes nothing. If it returns false, the object may
// have them nevertheless: numbers in another notation, or more than 16 fields in an object of
// the patch. Covers calls member for the members of the object with an empty parent, and for
// those of the metadata. Their values are texts that share memory with the object.
func Covers(object []byte, patch Object, member func(parent, key, value string)) bool {
	s := scanner{text: textOf(object)}
	return s.peek() == '{' && s.covers(patch, "", 0, member) && s.end()
}

// covers scans an object. The member is nil inside of fields whose members are not reported.
func (s *scanner) covers(patch Object, parent string, depth int, member func(parent, key, value string)) bool {
	if len(patch) > maxCovered || depth > maxDepth {
		return false
	}
	var few [maxCovered]string // on the stack
	missing := few[:0]
	for key, value := range patch {
		if value != nil {
			missing = append(missing, key)
		}
	}
	ok := s.members(func(key string) bool {
		start := s.at
		value, patched := patch[key]
		if patched {
			at := slices.Index(missing, key)
			if at < 0 {
				return false // it is repeated, or it should be removed
			}
			missing = slices.Delete(missing, at, at+1)
		}
		var ok bool
		switch {
		case s.text[start] == '{' && depth == 0 && key == "metadata":
			part, isObject := value.(Object)
			ok = (isObject || !patched) && s.covers(part, key, 1, member)
		case patched:
			ok = s.holds(value, depth+1)
		default:
			ok = s.skip(depth + 1)
		}
		if ok && member != nil {
			member(parent, key, s.text[start:s.at])
		}
		return ok
	})
	return ok && len(missing) == 0
}

// holds moves past a value, and reports whether it is certainly that of a patch.
func (s *scanner) holds(value any, depth int) bool {
	start := s.at
	switch value := value.(type) {
	case Object:
		return s.text[start] == '{' && s.covers(value, "", depth, nil)
	case string:
		if s.text[start] != '"' {
			return false
		}
		inside, _, ok := s.quoted()
		return ok && isEscaped(inside, value)
	}
	var few [64]byte
	return s.skip(depth) && s.text[start:s.at] == string(Append(few[:0], value))
}

// IsText reports whether a value is certainly a string with this text. It decodes nothing.
func IsText(value any, text []byte) bool {
	if lazy, ok := value.(*Lazy); ok {
		last := len(lazy.text) - 1
		return lazy.text[0] == '"' && isEscaped(lazy.text[1:last], textOf(text))
	}
	known, ok := value.(string)
	return ok && known == string(text)
}

// isEscaped reports whether the inside of a valid JSON string is certainly that of a text.
// It takes no escapes of characters outside of ASCII.
func isEscaped(inside, text string) bool {
	for {
		at := strings.IndexByte(inside, '\\')
		if at < 0 {
			return inside == text
		}
		if len(text) <= at || inside[:at] != text[:at] {
			return false
		}
		c, size := escapes[inside[at+1]], 2
		if c == 0 {
			c, size = longEscape(inside[at:])
		}
		if c != text[at] || size == 0 {
			return false
		}
		inside, text = inside[at+size:], text[at+1:]
	}
}

// longEscape returns the character of an escape \u00XX in ASCII; its size is zero for others.
func longEscape(text string) (c byte, size int) {
	const length = len(`\u0000`)
	if len(text) < length {
		return 0, 0
	}
	code, err := strconv.ParseUint(text[len(`\u`):length], 16, 16)
	if err != nil || code >= utf8.RuneSelf {
		return 0, 0
	}
	return byte(code), length
}

package dicts

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync/atomic"
)

// Lazy is an object, a list or a long string of a document that stays text until one of its parts is
// needed. Its text is the one that Encode makes of the value, so it can be encoded and
// compared without being decoded. It never changes; several goroutines may use it.
//
// Only objects hold a Lazy, in the place of a value: bodies, and their annotations. See
// DecodeBody, and Folded for a value of its own. All functions of this package take it for the value. Lookup and Resolve return
// the value. Other code that gets values out of objects calls Open.
type Lazy struct {
	text  string
	value atomic.Pointer[any]
}

// Open returns the value of a Lazy, and all other values unchanged. The caller must not
// change the result.
func Open(v any) any {
	if lazy, ok := v.(*Lazy); ok {
		return lazy.open()
	}
	return v
}

// Shut forgets the decoded values of members that are Lazy: they take many times the memory of their texts, which stay. What is asked
// for afterwards is decoded again.
func Shut(v any) {
	object, _ := v.(Object)
	for _, member := range object {
		if lazy, ok := member.(*Lazy); ok {
			lazy.value.Store(nil)
		}
	}
}

// Fold makes text of all members that are objects or lists, except the metadata. DecodeBody leaves some of them decoded: those
// whose text differs from that of Encode.
func Fold(body Object) {
	for key, value := range body {
		if key != "metadata" {
			body[key] = Folded(value)
		}
	}
}

// Folded returns an object or a list as text, if the text takes less memory: the decoded value can take sixty times as much. It
// returns other values unchanged, and a Lazy without its decoded value.
func Folded(v any) any {
	switch v := v.(type) {
	case *Lazy:
		v.value.Store(nil)
	case Object, []any:
		if text := Encode(v); Heap(text) > 2*len(text) && json.Valid(text) { // infinite numbers have no text in JSON
			return &Lazy{text: string(text)}
		}
	}
	return v
}

// MarshalJSON returns the text.
func (l *Lazy) MarshalJSON() ([]byte, error) { return []byte(l.text), nil }

// open decodes the text at the first time.
func (l *Lazy) open() any {
	if known := l.value.Load(); known != nil {
		return *known
	}
	d := decoder{scanner: scanner{text: l.text}}
	value, ok := d.document()
	if !ok { // it is nested too deeply for the decoder
		value, _ = decodeSlowly([]byte(l.text)) // the text is valid
	}
	l.value.Store(&value)
	return value
}

// SameText reports whether two values are Lazy with the same text, so they are equal. The
// values of false may be equal, too.
func SameText(a, b any) bool {
	x, ok := a.(*Lazy)
	y, also := b.(*Lazy)
	return ok && also && x.text == y.text
}

// equal is Equal for two Lazy values. Different texts can be equal: 1 and 1.0 are.
func (l *Lazy) equal(other *Lazy) bool {
	return l.text == other.text || Equal(l.open(), other.open())
}

// lazy returns the value at the current position without decoding it, if its text is the one
// that Encode makes of it. Otherwise, it does not move.
func (s *scanner) lazy(depth int) (*Lazy, bool) {
	start := s.at
	if c := s.text[s.at]; c != '{' && c != '[' {
		return nil, false
	}
	if !s.canonical(depth) || s.at-start == len("{}") {
		s.at = start
		return nil, false
	}
	return &Lazy{text: s.text[start:s.at]}, true
}

// leastLazyText is the minimum length of a string that stays undecoded, in bytes. The
// configuration that an operator has handled last is longer, usually.
const leastLazyText = 128

// lazyText returns the string at the current position without decoding it, if it is long and
// has escapes, all of which are those that Encode makes. Otherwise, it does not move.
func (s *scanner) lazyText() (*Lazy, bool) {
	start := s.at
	if s.text[s.at] != '"' {
		return nil, false
	}
	inside, ok := s.canonicalString()
	if !ok || len(inside) < leastLazyText || strings.IndexByte(inside, '\\') < 0 {
		s.at = start
		return nil, false
	}
	return &Lazy{text: s.text[start:s.at]}, true
}

// canonical moves past a value, and reports whether its text is the one that Encode makes of
// it: objects as API servers store them, unless they have unusual numbers or characters.
func (s *scanner) canonical(depth int) bool {
	if depth > maxDepth || s.at == len(s.text) {
		return false
	}
	switch s.text[s.at] {
	case '{':
		return s.canonicalMembers(depth + 1)
	case '[':
		return s.canonicalItems(depth + 1)
	case '"':
		_, ok := s.canonicalString()
		return ok
	case 't', 'f', 'n':
		return s.keyword()
	default:
		text, ok := s.number()
		return ok && isCanonicalNumber(text)
	}
}

// canonicalMembers requires sorted keys, which also excludes repeated ones.
func (s *scanner) canonicalMembers(depth int) bool {
	s.at++
	if s.next('}') {
		return true
	}
	for last, first := "", true; ; first = false {
		if !s.is('"') {
			return false
		}
		key, ok := s.canonicalString()
		if !ok || !first && key <= last || strings.IndexByte(key, '\\') >= 0 || !s.next(':') || !s.canonical(depth) {
			return false
		}
		if s.next('}') {
			return true
		}
		if !s.next(',') {
			return false
		}
		last = key
	}
}

func (s *scanner) canonicalItems(depth int) bool {
	s.at++
	if s.next(']') {
		return true
	}
	for {
		if !s.canonical(depth) {
			return false
		}
		if s.next(']') {
			return true
		}
		if !s.next(',') {
			return false
		}
	}
}

// canonicalString moves past a string of ASCII characters with the escapes that Encode makes,
// and returns the text between its quotes.
func (s *scanner) canonicalString() (string, bool) {
	start := s.at + 1
	for i := start; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case isPlain(c):
		case c == '"':
			s.at = i + 1
			return s.text[start:i], true
		case c != '\\' || i+1 == len(s.text):
			return "", false
		default:
			if i++; s.text[i] == '/' || escapes[s.text[i]] == 0 {
				return "", false
			}
		}
	}
	return "", false
}

// isCanonicalNumber reports whether Encode writes a valid number in this way.
func isCanonicalNumber(text string) bool {
	if !strings.ContainsAny(text, ".eE") {
		return text != "-0"
	}
	var digits [32]byte
	float, err := strconv.ParseFloat(text, 64)
	return err == nil && string(appendFloat(digits[:0], float)) == text
}

// is reports whether this byte is the next one.
func (s *scanner) is(c byte) bool { return s.at < len(s.text) && s.text[s.at] == c }

// next moves past a byte if it is the next one.
func (s *scanner) next(c byte) bool {
	if !s.is(c) {
		return false
	}
	s.at++
	return true
}

var _ json.Marshaler = (*Lazy)(nil)

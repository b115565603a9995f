package dicts

import (
	"strings"
	"unicode/utf8"
	"unsafe"
)

// maxDepth is the maximum nesting for the fast scanner. encoding/json, which has its own
// limit, handles deeper documents.
const maxDepth = 1000

// scanner scans one JSON text. It accepts nothing that encoding/json refuses. It refuses
// uncertain cases, such as invalid UTF-8, and the caller falls back to encoding/json.
// FuzzDecode and FuzzScan compare both.
type scanner struct {
	text string
	at   int
}

// Scan calls member for the members of an object, with an empty parent, and for those of its
// direct object members. It decodes nothing. It reports whether the whole text is an object.
// Keys and values share memory with the text, and are valid until the text changes.
func Scan(object []byte, member func(parent, key string, value []byte)) bool {
	s := scanner{text: textOf(object)}
	if s.peek() != '{' {
		return false
	}
	ok := s.members(func(key string) bool {
		start := s.at
		if s.text[s.at] != '{' || key == "" {
			if !s.skip(1) {
				return false
			}
			member("", key, object[start:s.at])
			return true
		}
		parent := key
		ok := s.members(func(key string) bool {
			start := s.at
			if !s.skip(2) {
				return false
			}
			member(parent, key, object[start:s.at])
			return true
		})
		if ok {
			member("", parent, object[start:s.at])
		}
		return ok
	})
	return ok && s.end()
}

// textOf converts bytes to a string without a copy.
func textOf(raw []byte) string { return unsafe.String(unsafe.SliceData(raw), len(raw)) }

// Text returns the text of a scanned string, and an empty text for other values.
func Text(value []byte) string {
	s := scanner{text: string(value)}
	if s.peek() != '"' {
		return ""
	}
	text, _ := s.stringValue()
	return text
}

// peek skips blanks and returns the next byte, or zero at the end.
func (s *scanner) peek() byte {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case ' ', '\n', '\r', '\t':
			s.at++
		default:
			return c
		}
	}
	return 0
}

// end reports whether only blanks are left.
func (s *scanner) end() bool { return s.peek() == 0 && s.at == len(s.text) }

// members scans an object. The callback starts at the value and must move past it.
func (s *scanner) members(member func(key string) bool) bool {
	s.at++
	if s.peek() == '}' {
		s.at++
		return true
	}
	for {
		if s.peek() != '"' {
			return false
		}
		key, ok := s.stringValue()
		if !ok || s.peek() != ':' {
			return false
		}
		s.at++
		if s.peek() == 0 || !member(key) {
			return false
		}
		switch s.peek() {
		case ',':
			s.at++
		case '}':
			s.at++
			return true
		default:
			return false
		}
	}
}

// items scans a list as members scans an object.
func (s *scanner) items(item func() bool) bool {
	s.at++
	if s.peek() == ']' {
		s.at++
		return true
	}
	for {
		if s.peek() == 0 || !item() {
			return false
		}
		switch s.peek() {
		case ',':
			s.at++
		case ']':
			s.at++
			return true
		default:
			return false
		}
	}
}

// skip moves past a value.
func (s *scanner) skip(depth int) bool {
	if depth > maxDepth {
		return false
	}
	switch s.text[s.at] {
	case '{':
		return s.members(func(string) bool { return s.skip(depth + 1) })
	case '[':
		return s.items(func() bool { return s.skip(depth + 1) })
	case '"':
		_, _, ok := s.quoted()
		return ok
	case 't', 'f', 'n':
		return s.keyword()
	default:
		_, ok := s.number()
		return ok
	}
}

// keyword moves past true, false or null.
func (s *scanner) keyword() bool { return s.word("true") || s.word("false") || s.word("null") }

func (s *scanner) word(word string) bool {
	if !strings.HasPrefix(s.text[s.at:], word) {
		return false
	}
	s.at += len(word)
	return true
}

// number moves past -? (0 | [1-9][0-9]*) (\.[0-9]+)? ([eE][+-]?[0-9]+)?
func (s *scanner) number() (string, bool) {
	start := s.at
	s.sign("-")
	if !s.next('0') && !s.digits() || s.next('.') && !s.digits() {
		return "", false
	}
	if s.at < len(s.text) && s.text[s.at]|0x20 == 'e' {
		s.at++
		s.sign("+-")
		if !s.digits() {
			return "", false
		}
	}
	return s.text[start:s.at], true
}

func (s *scanner) sign(signs string) {
	if s.at < len(s.text) && strings.IndexByte(signs, s.text[s.at]) >= 0 {
		s.at++
	}
}

func (s *scanner) digits() bool {
	start := s.at
	for s.at < len(s.text) && s.text[s.at]-'0' <= 9 {
		s.at++
	}
	return s.at > start
}

// plain marks the bytes that need no escape in strings and are not part of a multi-byte
// character.
var plain = func() (table [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		table[c] = c != '"' && c != '\\'
	}
	return table
}()

// quoted moves past a string. It returns the text between the quotes, and whether that text
// has no escapes.
func (s *scanner) quoted() (inside string, literal, ok bool) {
	start := s.at + 1
	literal, ascii := true, true
	for i := start; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case plain[c]:
		case c == '"':
			s.at = i + 1
			inside = s.text[start:i]
			return inside, literal, ascii || utf8.ValidString(inside)
		case c == '\\':
			literal = false
			if i = afterEscape(s.text, i); i < 0 {
				return "", false, false
			}
		case c < ' ':
			return "", false, false
		default:
			ascii = false
		}
	}
	return "", false, false
}

// afterEscape returns the position of the last byte of an escape, or -1 if it is invalid.
func afterEscape(text string, at int) int {
	if at++; at == len(text) {
		return -1
	}
	switch text[at] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return at
	case 'u':
		for range 4 {
			if at++; at == len(text) || !isHex(text[at]) {
				return -1
			}
		}
		return at
	}
	return -1
}

func isHex(c byte) bool { return c-'0' <= 9 || (c|0x20)-'a' <= 5 }

package dicts

import (
	"strings"
	"unicode/utf8"
	"unsafe"
)

// maxDepth bounds how deep the fast scanner follows nested values.
// Deeper ones are left to encoding/json, which has a limit of its own.
const maxDepth = 1000

// scanner walks over one JSON text. It accepts nothing that encoding/json refuses;
// what it is unsure about, such as texts that are not UTF-8, it refuses, and the
// caller asks encoding/json. FuzzDecode and FuzzScan compare both.
type scanner struct {
	text string
	at   int
}

// Scan walks over the members of an object, and over those of the objects in it
// that have a name, without decoding them: parent is empty for the object's own. It tells
// whether the text is an object from its first to its last byte. Keys and values are
// parts of the object, and valid as long as that is not changed.
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

// textOf is a text without a copy.
func textOf(raw []byte) string { return unsafe.String(unsafe.SliceData(raw), len(raw)) }

// Text is the text of a scanned value that is a string, and empty for other values.
func Text(value []byte) string {
	s := scanner{text: string(value)}
	if s.peek() != '"' {
		return ""
	}
	text, _ := s.stringValue()
	return text
}

// peek skips blanks and returns the next byte; zero is the end.
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

// end tells whether nothing but blanks is left.
func (s *scanner) end() bool { return s.peek() == 0 && s.at == len(s.text) }

// members walks over an object. The callback begins at the value and must step
// over it.
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

// items walks over a list, as members does over an object.
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

// skip steps over a value.
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
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	default:
		_, ok := s.number()
		return ok
	}
}

func (s *scanner) word(word string) bool {
	if !strings.HasPrefix(s.text[s.at:], word) {
		return false
	}
	s.at += len(word)
	return true
}

// number steps over -? (0 | [1-9][0-9]*) (\.[0-9]+)? ([eE][+-]?[0-9]+)?
func (s *scanner) number() (string, bool) {
	start := s.at
	s.sign("-")
	if s.at < len(s.text) && s.text[s.at] == '0' {
		s.at++
	} else if !s.digits() {
		return "", false
	}
	if s.at < len(s.text) && s.text[s.at] == '.' {
		s.at++
		if !s.digits() {
			return "", false
		}
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

// plain are the bytes that stand for themselves inside of strings and are no part
// of longer characters.
var plain = func() (table [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		table[c] = c != '"' && c != '\\'
	}
	return table
}()

// quoted steps over a string, and returns what is between the quotes, and whether
// that is the string itself: without escapes.
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

// afterEscape is the place of the last byte of an escape; -1: it is none.
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

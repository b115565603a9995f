package jsonlite

import "math/bits"

// skipSpace is the position of the next character that is not white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// skipString is the position after the string that starts at i, or -1.
func skipString(b []byte, i int) int {
	for i++; ; i += 2 { // over what is escaped
		i = skipPlain(b, i)
		if i >= len(b) {
			return -1
		}
		if b[i] == '"' {
			return i + 1
		}
	}
}

// skipPlain is the position of the next quote or backslash, or the end.
func skipPlain(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		if found := ends(load(b[i:])); found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(b) && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

// load reads eight characters at once: compilers make one instruction of it.
func load(b []byte) uint64 {
	_ = b[7]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// ends finds quotes and backslashes among eight characters: its lowest bit is in the first of them; it is 0 without any.
//
// See https://graphics.stanford.edu/~seander/bithacks.html#ZeroInWord
func ends(word uint64) uint64 {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	quote, backslash := word^(ones*'"'), word^(ones*'\\')
	return ((quote-ones)&^quote | (backslash-ones)&^backslash) & tops
}

// skipValue is the position after the value that starts at i, or -1. It looks
// at quotes and brackets only: what it skips is not validated.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	case ',', ':', '}', ']':
		return -1
	}
	for i < len(b) && !delimiter(b[i]) {
		i++
	}
	return i
}

// Classes of characters between values: only brackets and quotes matter.
const (
	opens = iota + 1
	closes
	quotes
)

var classes = [256]byte{'{': opens, '[': opens, '}': closes, ']': closes, '"': quotes}

// skipNested skips a list or an object.
func skipNested(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		class := classes[b[i]]
		i++
		switch class {
		case 0:
		case opens:
			depth++
		case closes:
			if depth--; depth == 0 {
				return i
			}
		case quotes:
			if i = skipString(b, i-1); i < 0 {
				return -1
			}
		}
	}
	return -1
}

// delimiter tells whether the character ends a number or a word.
func delimiter(c byte) bool {
	switch c {
	case ',', ':', '}', ']', '{', '[', '"', ' ', '\n', '\r', '\t':
		return true
	}
	return false
}

// Scanner goes over the members of an object or the items of a list, without
// decoding them.
type Scanner struct {
	b      []byte
	i      int
	object bool
	key    []byte // with its quotes
	value  []byte
	err    error
}

// Scan starts at the beginning of an object or a list. Other values have no members.
func Scan(raw []byte) Scanner {
	kind := KindOf(raw)
	if kind != Object && kind != Array {
		return Scanner{}
	}
	return Scanner{b: raw, i: skipSpace(raw, 0) + 1, object: kind == Object}
}

// Next goes to the next member. It returns false at the end and after errors.
func (s *Scanner) Next() bool { return s.begin() && s.end() }

// begin goes to where the next member begins.
//
//go:noinline
func (s *Scanner) begin() bool {
	i := skipSpace(s.b, s.i)
	if s.b == nil || s.err != nil {
		return false
	}
	if s.value != nil && i < len(s.b) && s.b[i] == ',' {
		i = skipSpace(s.b, i+1)
	} else if i < len(s.b) && (s.b[i] == '}' || s.b[i] == ']') {
		s.b = nil
		return false
	} else if s.value != nil {
		return s.fail()
	}
	if s.object {
		if i = s.scanKey(i); i < 0 {
			return s.fail()
		}
	}
	s.i = i
	return true
}

// end finds the end of the value that begins here.
//
//go:noinline
func (s *Scanner) end() bool {
	end := skipValue(s.b, s.i)
	if end <= s.i {
		return s.fail()
	}
	s.value, s.i = s.b[s.i:end:end], end
	return true
}

// scanKey reads the key at i, and returns the position of the value, or -1.
func (s *Scanner) scanKey(i int) int {
	if i >= len(s.b) || s.b[i] != '"' {
		return -1
	}
	end := skipString(s.b, i)
	if end < 0 {
		return -1
	}
	s.key = s.b[i:end]
	if i = skipSpace(s.b, end); i >= len(s.b) || s.b[i] != ':' {
		return -1
	}
	return skipSpace(s.b, i+1)
}

func (s *Scanner) fail() bool {
	s.err = ErrSyntax
	return false
}

// Key is the key of the member, if the value is an object.
func (s *Scanner) Key() string { return Unquote(s.key) }

// RawKey is the undecoded key, without its quotes. Keys of messages are
// never escaped.
func (s *Scanner) RawKey() []byte { return s.key[1 : len(s.key)-1] }

// KeyIs compares the key without decoding it, if possible.
func (s *Scanner) KeyIs(key string) bool {
	if len(s.key) == len(key)+2 && string(s.key[1:len(s.key)-1]) == key {
		return true
	}
	return len(s.key) > len(key)+2 && Unquote(s.key) == key
}

// Value is the undecoded value of the member.
func (s *Scanner) Value() []byte { return s.value }

// Err is what was wrong with the text, if Next ended early.
func (s *Scanner) Err() error { return s.err }

// Member is the value of the key in an object; nil if there is none.
func Member(raw []byte, key string) []byte { return First(Find(raw, key)) }

// Find is what begins with the value of the key in an object; nil if there is none.
// Where the value ends is not looked at, so that what is in the beginning of a large
// object is found at once. KindOf, Find, Member, Item and First take such a beginning,
// too; other functions want the value alone.
func Find(raw []byte, key string) []byte {
	s := Scan(raw)
	for s.object && s.begin() {
		if s.KeyIs(key) {
			return s.b[s.i:]
		}
		if !s.end() {
			break
		}
	}
	return nil
}

// First is the value that something begins with; nil if there is none.
func First(raw []byte) []byte {
	end := skipValue(raw, 0)
	if end <= 0 {
		return nil
	}
	return raw[:end:end]
}

// Item is an item of a list, counted from 0; nil if there is none.
func Item(raw []byte, index int) []byte {
	s := Scan(raw)
	for !s.object && s.Next() {
		if index == 0 {
			return s.value
		}
		index--
	}
	return nil
}

package jsonlite

import (
	"unicode/utf16"
	"unicode/utf8"
)

// Plain is what is between the quotes of a string, if it has no escapes.
func Plain(raw []byte) (text []byte, ok bool) {
	if len(raw) < 2 || raw[0] != '"' || skipPlain(raw, 1) != len(raw)-1 {
		return nil, false
	}
	return raw[1 : len(raw)-1], true
}

// Unquote decodes a string with its quotes. Malformed escapes are replaced, as
// encoding/json does; bytes that are not UTF-8 stay as they are, for the host has
// none; a value that is not a string gives "".
func Unquote(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return ""
	}
	raw = raw[1 : len(raw)-1]
	for i, c := range raw {
		if c == '\\' {
			return unescape(raw, i)
		}
	}
	return string(raw)
}

// escapes are the characters after a backslash, and what they stand for.
const escapes = "\"\"\\\\//b\bf\fn\nr\rt\t"

// unescape decodes the string from its first backslash on.
func unescape(raw []byte, i int) string {
	out := append(make([]byte, 0, len(raw)), raw[:i]...)
	for i < len(raw) {
		if raw[i] != '\\' || i+1 == len(raw) {
			out = append(out, raw[i])
			i++
			continue
		}
		if raw[i+1] == 'u' {
			r, size := unescapeRune(raw[i:])
			out = utf8.AppendRune(out, r)
			i += size
			continue
		}
		out = append(out, unescapeByte(raw[i+1]))
		i += 2
	}
	return string(out)
}

func unescapeByte(c byte) byte {
	for i := 0; i < len(escapes); i += 2 {
		if escapes[i] == c {
			return escapes[i+1]
		}
	}
	return c
}

// unescapeRune decodes \uXXXX, or two of them that are a surrogate pair, and
// tells how many bytes they take.
func unescapeRune(b []byte) (r rune, size int) {
	r, ok := hexRune(b)
	if !ok {
		return utf8.RuneError, min(len(b), 6)
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if low, ok := hexRune(b[6:]); ok {
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

// hexRune reads \uXXXX.
func hexRune(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

const hexDigits = "0123456789abcdef"

// AppendString writes a string with its quotes. Bytes that are not UTF-8 are
// replaced.
func AppendString(buf []byte, s string) []byte {
	buf = append(buf, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		size := 1
		if c >= utf8.RuneSelf {
			var r rune
			if r, size = utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		buf = append(buf, s[start:i]...)
		buf = appendEscape(buf, c)
		i += size
		start = i
	}
	return append(append(buf, s[start:]...), '"')
}

// appendEscape writes a character that cannot stand in a string.
func appendEscape(buf []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(buf, '\\', c)
	case '\n':
		return append(buf, '\\', 'n')
	case '\r':
		return append(buf, '\\', 'r')
	case '\t':
		return append(buf, '\\', 't')
	}
	if c >= utf8.RuneSelf {
		return append(buf, `\ufffd`...)
	}
	return append(buf, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

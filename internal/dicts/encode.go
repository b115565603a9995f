package dicts

import (
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// Member is one key of an object with its value.
type Member struct {
	Key   string
	Value any
}

// Members is an object with a fixed order of keys.
type Members []Member

// Encode encodes a document as Python's json.dumps(doc, separators=(',', ':')) does: no
// spaces, escapes for all characters outside ASCII, and no escapes that JSON does not
// require. It sorts keys, as API servers do for custom objects. Members keep their order.
// Values that are not JSON become null.
func Encode(doc any) []byte { return Append(nil, doc) }

// Append appends the text of Encode to a buffer.
func Append(out []byte, doc any) []byte {
	switch doc := doc.(type) {
	case nil:
		return append(out, "null"...)
	case string:
		return AppendString(out, doc)
	case bool:
		if doc {
			return append(out, "true"...)
		}
		return append(out, "false"...)
	case *Lazy:
		return append(out, doc.text...)
	case []any:
		out = append(out, '[')
		for i, item := range doc {
			out = Append(appendComma(out, i), item)
		}
		return append(out, ']')
	case Object:
		return appendObject(out, doc)
	case Members:
		out = append(out, '{')
		for i, member := range doc {
			out = AppendString(appendComma(out, i), member.Key)
			out = Append(append(out, ':'), member.Value)
		}
		return append(out, '}')
	default:
		if number, ok := numberOf(doc); ok {
			return number.append(out)
		}
		return append(out, "null"...)
	}
}

func appendObject(out []byte, obj Object) []byte {
	var few [16]string // on the stack: most objects have no more keys
	keys := few[:0]
	for key := range obj {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	out = append(out, '{')
	for i, key := range keys {
		out = AppendString(appendComma(out, i), key)
		out = Append(append(out, ':'), obj[key])
	}
	return append(out, '}')
}

// appendComma separates an item from the previous one.
func appendComma(out []byte, index int) []byte {
	if index > 0 {
		out = append(out, ',')
	}
	return out
}

// longText is the size of a text from which on room is made for all of it: a buffer that grows step by step takes five times its
// size in between.
const longText = 64 << 10

// AppendString is Append for a text.
func AppendString(out []byte, text string) []byte {
	if len(text) >= longText {
		out = slices.Grow(out, roomFor(text))
	}
	out = append(out, '"')
	start := 0 // of the part that is copied unchanged
	for i := 0; i < len(text); {
		c := text[i]
		if isPlain(c) {
			i++
			continue
		}
		out = append(out, text[start:i]...)
		if c < utf8.RuneSelf {
			out = appendASCII(out, c)
			i++
		} else {
			r, size := utf8.DecodeRuneInString(text[i:])
			out = appendRune(out, r)
			i += size
		}
		start = i
	}
	out = append(out, text[start:]...)
	return append(out, '"')
}

// roomFor is the size of a text in quotes. It is only less for texts that are not UTF-8.
func roomFor(text string) int {
	const unit = len(`\u0000`)
	size := len(`""`)
	for i := range len(text) {
		switch c := text[i]; {
		case isPlain(c):
			size++
		case c < utf8.RuneSelf:
			size += len(appendASCII(make([]byte, 0, unit), c))
		case utf8.RuneStart(c):
			size += unit
			if c >= 0xf0 { // the first of four bytes, which are two units
				size += unit
			}
		}
	}
	return size
}

// isPlain reports whether a byte needs no escape in a JSON string.
func isPlain(c byte) bool { return c >= ' ' && c <= '~' && c != '"' && c != '\\' }

// appendASCII escapes one of the bytes that are not plain.
func appendASCII(out []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(out, '\\', c)
	case '\n':
		return append(out, `\n`...)
	case '\r':
		return append(out, `\r`...)
	case '\t':
		return append(out, `\t`...)
	case '\f':
		return append(out, `\f`...)
	case '\b':
		return append(out, `\b`...)
	}
	return appendEscape(out, rune(c))
}

// appendRune escapes a character by its one or two UTF-16 units.
func appendRune(out []byte, r rune) []byte {
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		return appendEscape(appendEscape(out, high), low)
	}
	return appendEscape(out, r)
}

// appendEscape writes one UTF-16 unit as \uXXXX.
func appendEscape(out []byte, unit rune) []byte {
	const digits = "0123456789abcdef"
	return append(out, '\\', 'u',
		digits[unit>>12&0xf], digits[unit>>8&0xf], digits[unit>>4&0xf], digits[unit&0xf])
}

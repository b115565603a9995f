// Package legible makes texts of others fit to be shown: of guests, objects, registries and clients. They
// may be anything, and must not forge lines of a log, control a terminal, or hide what they say.
package legible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Continuation begins each line of a text but its first one: no record of a log and no other output of
// the host begins with it.
const Continuation = "| "

// zero-width joiners, which scripts and emoji need, are the only invisible characters that are shown as they are.
const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'
)

// isLegible tells whether a character can be shown: not if it controls a terminal, ends a line, changes the
// direction of the text, is invisible, or is unknown.
func isLegible(r rune) bool {
	return r == '\t' || unicode.IsGraphic(r) || r == nonJoiner || r == joiner
}

// Line is a text on one line: all that cannot be shown is escaped as in JSON (\n, \u001b), and bytes that
// are no UTF-8 as \xff. What is shown as it is stays byte for byte, backslashes too, so that a line of JSON stays that.
func Line(text string) string {
	if at := firstOdd(text); at < len(text) {
		return string(appendLine([]byte(text[:at]), text[at:]))
	}
	return text
}

// AppendLine appends a text as Line makes it.
func AppendLine[T string | []byte](out []byte, text T) []byte {
	at := firstOdd(text)
	return appendLine(append(out, text[:at]...), string(text[at:]))
}

// Lines is a text of several lines, as of a traceback: line breaks stay, and each line but the first one begins
// with Continuation. Everything else is as in Line.
func Lines(text string) string {
	if firstOdd(text) == len(text) {
		return text
	}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := range lines {
		lines[i] = Line(lines[i])
	}
	return strings.Join(lines, "\n"+Continuation)
}

// Clip bounds a text, in bytes, and says how much more there is of it. It does not escape.
func Clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return fmt.Sprintf("%s… (%d bytes more)", text[:limit], len(text)-limit)
}

// Short is Line of Clip: a bounded text on one line.
func Short(text string, limit int) string { return Line(Clip(text, limit)) }

// JSON escapes what cannot be shown in valid JSON on one line, which encoders leave as it is. It returns the same
// text if there is nothing of that.
func JSON(text []byte) []byte {
	if at := firstOdd(text); at < len(text) {
		return appendLine(append([]byte(nil), text[:at]...), string(text[at:]))
	}
	return text
}

// firstOdd is where the first character is that is escaped; the length of the text if there is none.
func firstOdd[T string | []byte](text T) int {
	for i := 0; i < len(text); i++ {
		if c := text[i]; c < ' ' && c != '\t' || c >= 0x7f {
			return i + firstOddRune(string(text[i:]))
		}
	}
	return len(text)
}

func firstOddRune(text string) int {
	for i, r := range text {
		if !isLegible(r) || r == utf8.RuneError {
			return i
		}
	}
	return len(text)
}

func appendLine(out []byte, text string) []byte {
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			out = fmt.Appendf(out, `\x%02x`, text[0])
		case isLegible(r):
			out = append(out, text[:size]...)
		default:
			out = escape(out, r)
		}
		text = text[size:]
	}
	return out
}

func escape(out []byte, r rune) []byte {
	switch {
	case r == '\n':
		return append(out, `\n`...)
	case r == '\r':
		return append(out, `\r`...)
	case r > 0xffff:
		high, low := utf16.EncodeRune(r)
		return fmt.Appendf(out, `\u%04x\u%04x`, high, low)
	}
	return fmt.Appendf(out, `\u%04x`, r)
}

// Error is an error whose own text is one line of at most a bounded length.
//
// Errors: it unwraps to err.
func Error(err error) error { return &lineError{err} }

// maxError bounds the text of an error, in bytes.
const maxError = 2000

type lineError struct{ err error }

func (e *lineError) Error() string { return Short(e.err.Error(), maxError) }
func (e *lineError) Unwrap() error { return e.err }

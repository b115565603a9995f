// Package legible makes untrusted texts safe to show: texts of guests, objects, registries
// and clients. Such texts must not forge lines of a log, control a terminal, or hide their
// content. Durations are here, too, in a form for people.
package legible

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Continuation begins each line of a text except the first one. No log record and no other
// output of the host begins with it.
const Continuation = "| "

// Zero-width joiners, and the selectors between text and emoji, which scripts and emoji need, are the only invisible
// characters that are not escaped.
const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'
	asText    = '\ufe0e'
	asEmoji   = '\ufe0f'
)

// isLegible reports whether a character can be shown. It is false for characters that
// control a terminal, end a line, change the direction of the text, are invisible, or are
// unknown.
func isLegible(r rune) bool {
	switch r {
	case '\t', nonJoiner, joiner, asText, asEmoji:
		return true
	}
	return unicode.IsGraphic(r) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) // some letters and marks are invisible
}

// Line returns a text on one line. It escapes characters that cannot be shown as in JSON
// (\n, \u001b), and invalid UTF-8 as \xff. All other bytes are unchanged, including
// backslashes, so a line of JSON stays valid.
func Line(text string) string {
	if at := firstOdd(text); at < len(text) {
		return string(appendLine([]byte(text[:at]), text[at:]))
	}
	return text
}

// AppendLine appends the result of Line.
func AppendLine[T string | []byte](out []byte, text T) []byte {
	at := firstOdd(text)
	return appendLine(append(out, text[:at]...), string(text[at:]))
}

// Lines returns a text of several lines, such as a traceback. It keeps line breaks, and
// begins each line except the first one with Continuation. Otherwise, it works like Line.
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

// Clip cuts a text to a limit in bytes, and appends the size of the rest. It does not
// escape.
func Clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return fmt.Sprintf("%s… (%d bytes more)", text[:limit], len(text)-limit)
}

// Short returns Line of Clip: a bounded text on one line.
func Short(text string, limit int) string { return Line(Clip(text, limit)) }

// JSON escapes characters in a line of valid JSON that cannot be shown and that encoders do
// not escape. It returns the same text if there are no such characters.
func JSON(text []byte) []byte {
	if at := firstOdd(text); at < len(text) {
		return appendLine(append([]byte(nil), text[:at]...), string(text[at:]))
	}
	return text
}

// firstOdd is the position of the first character that needs an escape, or the length of the
// text.
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

// Error wraps an error, and shows its text on one line of bounded length.
//
// Errors: it unwraps to err.
func Error(err error) error { return &lineError{err} }

// maxError bounds the text of an error, in bytes.
const maxError = 2000

type lineError struct{ err error }

func (e *lineError) Error() string { return Short(e.err.Error(), maxError) }
func (e *lineError) Unwrap() error { return e.err }

// Seconds is a time for people, in whole seconds: 8 s, 2 min 5 s.
func Seconds(d time.Duration) string {
	total := int64(d.Round(time.Second) / time.Second)
	if total < 60 {
		return fmt.Sprintf("%d s", total)
	}
	return fmt.Sprintf("%d min %d s", total/60, total%60)
}

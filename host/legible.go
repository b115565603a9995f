package host

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// legibleError is an error with names and texts of a module in it, which may be anything: its own text is
// one line without control characters, and not long.
type legibleError struct{ err error }

func (e *legibleError) Error() string { return legible(e.err.Error()) }
func (e *legibleError) Unwrap() error { return e.err }

// maxLegible bounds what is shown of a text, in bytes.
const maxLegible = 2000

// legible writes what cannot be printed as Go does in quotes, and cuts what is too long.
func legible(text string) string {
	var b strings.Builder
	for i, r := range text {
		if b.Len() >= maxLegible {
			return b.String() + "… (" + strconv.Itoa(len(text)-i) + " bytes more)"
		}
		if r == utf8.RuneError || !strconv.IsPrint(r) {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

package clients

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// product is the name of this program for API servers. They take what owns fields from the
// part of the user agent before the first slash: it must be that of Kopf, for objects that
// both have written.
//
// Kopf: kopf._cogs.clients.auth.APIContext (v1.45).
const product = "kopf"

// Bounds of names in bytes. That of managers is the API server's.
const (
	maxComment = 200
	maxManager = 128
)

// UserAgent tells servers which program asks, and for which operator, whose name may be
// anything: kopf/1.2.3 (archiver). Both may be empty.
//
// See https://www.rfc-editor.org/rfc/rfc9110#section-10.1.5
func UserAgent(version, operator string) string {
	agent := product
	if version != "" {
		agent += "/" + replaced(version, maxComment, func(r rune) bool {
			return r > ' ' && r < 0x7f && !strings.ContainsRune(`()/,;:\"<=>?@[]{}`, r)
		})
	}
	if operator != "" {
		agent += " (" + replaced(operator, maxComment, func(r rune) bool {
			return r >= ' ' && r < 0x7f && !strings.ContainsRune(`()\`, r)
		}) + ")"
	}
	return agent
}

// FieldManager is what owns the fields that guests of an operator write, unless they name
// another manager: kopf-archiver.
func FieldManager(operator string) string {
	if operator == "" {
		return product
	}
	return product + "-" + replaced(operator, maxManager-len(product)-1, unicode.IsPrint)
}

// IsFieldManager tells whether the API server takes a name for a manager.
func IsFieldManager(name string) bool {
	return len(name) <= maxManager && utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}

// replaced is a text of so many bytes at most, with underscores for what is not allowed.
func replaced(text string, limit int, allowed func(rune) bool) string {
	var b strings.Builder
	for _, r := range text {
		if !allowed(r) || r == utf8.RuneError {
			r = '_'
		}
		if b.Len()+utf8.RuneLen(r) > limit {
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}

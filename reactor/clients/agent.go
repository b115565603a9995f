package clients

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// product is the name of this program for API servers. An API server takes the field
// manager from the part of the user agent before the first slash. It must equal Kopf's,
// for objects that both have written.
//
// Kopf: kopf._cogs.clients.auth.APIContext (v1.45).
const product = "kopf"

// These constants limit names, in bytes. The API server sets the limit of field managers.
const (
	maxComment = 200
	maxManager = 128
)

// UserAgent makes a user agent from the version of the program and the name of the
// operator, which may be any text: kopf/1.2.3 (archiver). Both may be empty.
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

// FieldManager returns the default owner of the fields that an operator's guests write:
// kopf-archiver.
func FieldManager(operator string) string {
	if operator == "" {
		return product
	}
	return product + "-" + replaced(operator, maxManager-len(product)-1, unicode.IsPrint)
}

// IsFieldManager reports whether the API server accepts a name as a field manager.
func IsFieldManager(name string) bool {
	return len(name) <= maxManager && utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}

// replaced returns at most limit bytes of text, with underscores for characters that are
// not allowed.
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

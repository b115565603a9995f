package packages

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// imported returns the first parts of the names of modules in the import statements of a
// text in Python, at any place in it. Relative imports are left out.
func imported(text string) []string {
	var names []string
	s := &statements{text: strings.TrimPrefix(text, "\ufeff")}
	for {
		words, more := s.next()
		switch {
		case len(words) > 1 && words[0] == "import":
			names = append(names, importedBy(words[1:])...)
		case len(words) > 2 && words[0] == "from" && isName(words[1]):
			names = append(names, words[1])
		}
		if !more {
			return names
		}
	}
}

// importedBy returns the modules of `import a.b as c, d`.
func importedBy(words []string) []string {
	var names []string
	first := true
	for _, word := range words {
		if first && isName(word) {
			names = append(names, word)
		}
		first = word == ","
	}
	return names
}

// statements splits a text in Python into statements, as far as imports need it: without
// comments and strings, with each block on a line of its own.
type statements struct {
	text string
	at   int
}

// next returns the words of the next statement: names, and single other characters. It
// returns false after the last one.
func (s *statements) next() (words []string, more bool) {
	depth := 0
	for s.at < len(s.text) {
		rest := s.text[s.at:]
		r, size := utf8.DecodeRuneInString(rest)
		switch {
		case r == '#':
			s.skipTo("\n")
			continue
		case r == '"' || r == '\'':
			s.skipString()
			continue
		case r == '\\' && strings.HasPrefix(strings.TrimLeft(rest[1:], "\r"), "\n"):
			s.at += 1 + strings.IndexByte(rest[1:], '\n')
		case isNameRune(r):
			size = len(rest) - len(strings.TrimLeftFunc(rest, isNameRune))
			words = append(words, rest[:size])
		case depth == 0 && (r == '\n' || r == ';' || r == ':'):
			s.at += size
			return words, true
		case strings.ContainsRune("([{", r):
			depth++
		case strings.ContainsRune(")]}", r):
			depth = max(0, depth-1)
		case !unicode.IsSpace(r):
			words = append(words, rest[:size])
		}
		s.at += size
	}
	return words, false
}

// skipTo skips a comment.
func (s *statements) skipTo(end string) {
	if i := strings.Index(s.text[s.at:], end); i >= 0 {
		s.at += i
	} else {
		s.at = len(s.text)
	}
}

// skipString skips a string. The prefix was a name; a raw string ends at the same place as
// another one.
func (s *statements) skipString() {
	quote := s.text[s.at : s.at+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(s.text[s.at:], triple) {
		quote = triple
	}
	for s.at += len(quote); s.at < len(s.text); s.at++ {
		switch {
		case s.text[s.at] == '\\':
			s.at++
		case strings.HasPrefix(s.text[s.at:], quote):
			s.at += len(quote)
			return
		case s.text[s.at] == '\n' && len(quote) == 1: // not a valid text
			return
		}
	}
	s.at = min(s.at, len(s.text))
}

func isNameRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func isName(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return r != utf8.RuneError && isNameRune(r) && !unicode.IsDigit(r)
}

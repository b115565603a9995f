package schemas

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// rustToken is a word, a literal, or one character of punctuation of a file in Rust.
type rustToken struct {
	text    string
	doc     bool // a line of documentation, without its slashes
	literal bool // a text, without its quotes
	line    int
}

// rustTokens splits a file in Rust. Comments are left out, except documentation.
//
// Errors: a text or a comment without an end.
func rustTokens(text string) ([]rustToken, error) {
	s := &rustScanner{text: text, line: 1}
	for s.at < len(s.text) {
		if err := s.next(); err != nil {
			return nil, err
		}
	}
	return s.tokens, nil
}

type rustScanner struct {
	text   string
	at     int
	line   int
	tokens []rustToken
}

func (s *rustScanner) add(t rustToken) {
	t.line = s.line
	s.tokens = append(s.tokens, t)
}

// next reads one token, or what is between tokens.
func (s *rustScanner) next() error {
	rest := s.text[s.at:]
	first, size := utf8.DecodeRuneInString(rest)
	switch c := rest[0]; {
	case c == '\n':
		s.line++
		s.at++
	case c == ' ' || c == '\t' || c == '\r':
		s.at++
	case strings.HasPrefix(rest, "//"):
		line, _, _ := strings.Cut(rest, "\n")
		if doc, ok := strings.CutPrefix(line, "///"); ok && !strings.HasPrefix(doc, "/") {
			s.add(rustToken{text: strings.TrimSpace(doc), doc: true})
		}
		s.at += len(line)
	case strings.HasPrefix(rest, "/*"):
		return s.comment()
	case isRawName(rest):
		s.at += len("r#")
	case strings.HasPrefix(rest, `r"`) || strings.HasPrefix(rest, "r#"):
		return s.raw()
	case c == '"':
		return s.quoted()
	case c == '\'':
		s.apostrophe()
	case isWord(first):
		end := strings.IndexFunc(rest, func(r rune) bool { return !isWord(r) })
		if end < 0 {
			end = len(rest)
		}
		s.add(rustToken{text: rest[:end]})
		s.at += end
	default:
		s.add(rustToken{text: rest[:size]})
		s.at += size
	}
	return nil
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// isRawName reports whether a text begins with a name that is a keyword, too: r#type.
func isRawName(text string) bool {
	name, ok := strings.CutPrefix(text, "r#")
	first, _ := utf8.DecodeRuneInString(name)
	return ok && isWord(first)
}

// comment moves behind a comment, in which others may be nested.
func (s *rustScanner) comment() error {
	begin, depth := s.line, 0
	for at := s.at; at < len(s.text); at++ {
		switch rest := s.text[at:]; {
		case strings.HasPrefix(rest, "/*"):
			depth++
			at++
		case strings.HasPrefix(rest, "*/"):
			depth--
			at++
			if depth == 0 {
				s.at = at + 1
				return nil
			}
		case rest[0] == '\n':
			s.line++
		}
	}
	return fmt.Errorf("line %d: a comment without an end", begin)
}

// skip moves behind the end of a text.
func (s *rustScanner) skip(end string) error {
	at := strings.Index(s.text[s.at:], end)
	if at < 0 {
		return fmt.Errorf("line %d: a text without an end", s.line)
	}
	s.line += strings.Count(s.text[s.at:s.at+at], "\n")
	s.at += at + len(end)
	return nil
}

// raw reads a raw text, such as r#"..."#.
func (s *rustScanner) raw() error {
	rest := s.text[s.at+1:]
	hashes := len(rest) - len(strings.TrimLeft(rest, "#"))
	if hashes == len(rest) || rest[hashes] != '"' {
		s.at++ // no text
		return nil
	}
	begin := s.at + 1 + hashes + 1
	s.at = begin
	if err := s.skip(`"` + strings.Repeat("#", hashes)); err != nil {
		return err
	}
	s.add(rustToken{text: s.text[begin : s.at-1-hashes], literal: true})
	return nil
}

func (s *rustScanner) quoted() error {
	for at := s.at + 1; at < len(s.text); at++ {
		switch s.text[at] {
		case '\\':
			at++
		case '\n':
			s.line++
		case '"':
			s.add(rustToken{text: s.text[s.at+1 : at], literal: true})
			s.at = at + 1
			return nil
		}
	}
	return fmt.Errorf("line %d: a text without an end", s.line)
}

// apostrophe reads a character, or skips the beginning of a lifetime.
func (s *rustScanner) apostrophe() {
	rest := s.text[s.at+1:]
	end := strings.IndexByte(rest, '\'')
	if strings.HasPrefix(rest, `\`) && strings.HasPrefix(rest[min(1, len(rest)):], "'") {
		end = 2
	}
	if end > 0 && end <= len(`\u{10FFFF}`) && (rest[0] == '\\' || len([]rune(rest[:end])) == 1) {
		s.at += end + 2
		return
	}
	s.at += 1 + len(rest) - len(strings.TrimLeftFunc(rest, isWord))
}

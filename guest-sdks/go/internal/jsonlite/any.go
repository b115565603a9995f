package jsonlite

// Any decodes a whole text: objects into map[string]any, lists into []any, integers
// into int64, other numbers (and integers beyond 64 bits) into float64.
func Any(raw []byte) (any, error) { return anyAt(raw, 0) }

// anyAt decodes a text that is part of another one, at this depth.
func anyAt(raw []byte, depth int) (any, error) {
	p := parser{b: raw, depth: depth}
	v, err := p.value()
	if err != nil {
		return nil, err
	}
	if skipSpace(raw, p.i) != len(raw) {
		return nil, ErrSyntax
	}
	return v, nil
}

// Valid tells whether the text is one JSON value.
func Valid(raw []byte) bool { return validAt(raw, 0) }

func validAt(raw []byte, depth int) bool {
	_, err := anyAt(raw, depth)
	return err == nil
}

// parser decodes values one after another, checking their syntax.
type parser struct {
	b     []byte
	i     int
	depth int
}

func (p *parser) value() (any, error) {
	if p.i = skipSpace(p.b, p.i); p.i >= len(p.b) {
		return nil, ErrSyntax
	}
	switch p.b[p.i] {
	case '"':
		return p.text()
	case '{', '[':
		return p.nested()
	}
	return p.scalar()
}

// nested decodes an object or a list.
func (p *parser) nested() (v any, err error) {
	if p.depth >= maxDepth {
		return nil, ErrDepth
	}
	p.depth++
	if p.b[p.i] == '{' {
		v, err = p.object()
	} else {
		v, err = p.list()
	}
	p.depth--
	return v, err
}

// text is a string as a value.
//
//go:noinline
func (p *parser) text() (any, error) {
	text, err := p.string()
	if err != nil {
		return nil, err
	}
	return text, nil
}

//go:noinline
func (p *parser) object() (any, error) {
	object := map[string]any{}
	for first := true; ; first = false {
		if more, err := p.separator('}', first); !more {
			return object, err
		}
		if p.i >= len(p.b) || p.b[p.i] != '"' {
			return nil, ErrSyntax
		}
		key, err := p.string()
		if err != nil {
			return nil, err
		}
		if p.i = skipSpace(p.b, p.i); p.i >= len(p.b) || p.b[p.i] != ':' {
			return nil, ErrSyntax
		}
		p.i++
		if object[key], err = p.value(); err != nil {
			return nil, err
		}
	}
}

//go:noinline
func (p *parser) list() (any, error) {
	list := []any{}
	for first := true; ; first = false {
		if more, err := p.separator(']', first); !more {
			return list, err
		}
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
}

// separator goes over the bracket or the comma before a member, or over the
// closing bracket; then there are no more members.
//
//go:noinline
func (p *parser) separator(closing byte, first bool) (more bool, err error) {
	if first {
		p.i++
	}
	if p.i = skipSpace(p.b, p.i); p.i >= len(p.b) {
		return false, ErrSyntax
	}
	switch {
	case p.b[p.i] == closing:
		p.i++
		return false, nil
	case first:
		return true, nil
	case p.b[p.i] != ',':
		return false, ErrSyntax
	}
	if p.i = skipSpace(p.b, p.i+1); p.i < len(p.b) && p.b[p.i] == closing {
		return false, ErrSyntax
	}
	return true, nil
}

//go:noinline
func (p *parser) string() (string, error) {
	end := skipString(p.b, p.i)
	if end < 0 || !validString(p.b[p.i+1:end-1]) {
		return "", ErrSyntax
	}
	s := Unquote(p.b[p.i:end])
	p.i = end
	return s, nil
}

// validString checks what is between the quotes: escapes, and no control characters.
func validString(b []byte) bool {
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] < ' ':
			return false
		case b[i] != '\\':
		case b[i+1] == 'u': // there is a next one, or the quote was escaped
			if _, ok := hexRune(b[i:]); !ok {
				return false
			}
			i += 5
		case !validEscape(b[i+1]):
			return false
		default:
			i++
		}
	}
	return true
}

func validEscape(c byte) bool {
	for i := 0; i < len(escapes); i += 2 {
		if escapes[i] == c {
			return true
		}
	}
	return false
}

//go:noinline
func (p *parser) scalar() (any, error) {
	start := p.i
	p.i = skipValue(p.b, start)
	if p.i <= start {
		return nil, ErrSyntax
	}
	switch word := string(p.b[start:p.i]); word {
	case "null":
		return nil, nil
	case "true":
		return true, nil
	case "false":
		return false, nil
	default:
		return parseNumber(p.b[start:p.i])
	}
}

// parseNumber decodes a number of JSON, which is stricter than one of Go.
func parseNumber(word []byte) (any, error) {
	if !validNumber(string(word)) {
		return nil, ErrSyntax
	}
	if n, ok := ParseInt(word); ok {
		return n, nil
	}
	f, ok := ParseFloat(word, 64)
	if !ok {
		return nil, ErrSyntax
	}
	return f, nil
}

// validNumber checks the grammar: -? int frac? exp?
func validNumber(s string) bool {
	if s != "" && s[0] == '-' {
		s = s[1:]
	}
	n := digits(s)
	if n == 0 || n > 1 && s[0] == '0' {
		return false
	}
	if s = s[n:]; s != "" && s[0] == '.' {
		if n = digits(s[1:]); n == 0 {
			return false
		}
		s = s[n+1:]
	}
	if s == "" || s[0] != 'e' && s[0] != 'E' {
		return s == ""
	}
	if s = s[1:]; s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	return s != "" && digits(s) == len(s)
}

// digits counts the digits at the beginning.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

package schemas

import (
	"fmt"
	"slices"
	"strings"
)

// readRust adds the types of a file in Rust: structs with named fields, and enums of names.
func (t *Types) readRust(text string) error {
	tokens, err := rustTokens(text)
	if err != nil {
		return err
	}
	p := &rustParser{tokens: tokens}
	var traits rustAttributes
	for !p.ends() {
		switch {
		case p.peek().doc || p.is("#"):
			p.attributes(&traits)
			continue
		case p.is("pub"):
			p.visibility()
			continue
		case p.is("struct"), p.is("enum"):
			if err := p.item(t, traits); err != nil {
				return err
			}
		case slices.Contains(causesOfSpecs, p.peek().text) && p.after("<"):
			p.at += 2
			t.handled = append(t.handled, p.peek().text)
		default:
			p.at++
		}
		traits = rustAttributes{}
	}
	return nil
}

// causesOfSpecs are the arguments of handlers whose parameter is the type of the spec.
var causesOfSpecs = []string{"Change", "Event", "Timer", "Daemon", "Review"}

type rustParser struct {
	tokens []rustToken
	at     int
	levels int // of the brackets around the tokens
}

// inside returns a parser of the group that begins here.
func (p *rustParser) inside() *rustParser {
	return &rustParser{tokens: p.group(), levels: p.levels + 1}
}

// rustAttributes are the documentation and the attributes of serde before an item or a field.
type rustAttributes struct {
	doc   []string
	serde map[string]string // rename = "x"
}

func (a *rustAttributes) text() string { return strings.Join(a.doc, "\n") }

func (a *rustAttributes) has(name string) bool {
	_, ok := a.serde[name]
	return ok
}

func (p *rustParser) ends() bool { return p.at >= len(p.tokens) }

func (p *rustParser) peek() rustToken {
	if p.ends() {
		return rustToken{}
	}
	return p.tokens[p.at]
}

func (p *rustParser) is(text string) bool {
	next := p.peek()
	return next.text == text && !next.literal && !next.doc
}

// after reports whether a text follows the current token.
func (p *rustParser) after(text string) bool {
	return p.at+1 < len(p.tokens) && p.tokens[p.at+1].text == text && !p.tokens[p.at+1].literal
}

func (p *rustParser) take() rustToken {
	t := p.peek()
	p.at++
	return t
}

func (p *rustParser) expect(text string) error {
	if p.is(text) {
		p.at++
		return nil
	}
	next := p.peek()
	if p.ends() && len(p.tokens) > 0 {
		next = rustToken{text: "the end", line: p.tokens[len(p.tokens)-1].line}
	}
	return fmt.Errorf("line %d: want %q, got %q", next.line, text, next.text)
}

// group skips a group in brackets, which begins here.
func (p *rustParser) group() (inside []rustToken) {
	closing := map[string]string{"(": ")", "[": "]", "{": "}", "<": ">"}
	open := p.take().text
	begin, depth := p.at, 1
	for !p.ends() {
		switch next := p.take(); {
		case next.literal || next.doc:
		case next.text == open:
			depth++
		case next.text == closing[open]:
			if depth--; depth == 0 {
				return p.tokens[begin : p.at-1]
			}
		}
	}
	return p.tokens[begin:]
}

func (p *rustParser) visibility() {
	if p.at++; p.is("(") {
		p.group()
	}
}

// attributes adds the lines of documentation and the attributes that follow.
func (p *rustParser) attributes(a *rustAttributes) {
	for {
		switch {
		case p.peek().doc:
			a.doc = append(a.doc, p.take().text)
		case p.is("#"):
			p.attribute(a)
		default:
			return
		}
	}
}

// attribute adds one attribute, if it is one of serde.
func (p *rustParser) attribute(a *rustAttributes) {
	if p.at++; p.is("!") {
		p.at++
	}
	if !p.is("[") {
		return
	}
	inside := p.inside()
	if !inside.is("serde") || !inside.after("(") {
		return
	}
	inside.at++
	inside = inside.inside()
	if a.serde == nil {
		a.serde = map[string]string{}
	}
	for !inside.ends() {
		name := inside.take().text
		value := ""
		if inside.is("=") {
			inside.at++
			value = inside.take().text
		} else if inside.is("(") {
			inside.group()
		}
		if name != "," {
			a.serde[name] = value
		}
	}
}

// item reads a struct or an enum.
func (p *rustParser) item(t *Types, a rustAttributes) error {
	kind, name := p.take().text, p.take().text
	if p.is("<") {
		p.group()
		t.shapes[name] = refused("a type with parameters has no schema of its own")
		return nil
	}
	if !p.is("{") {
		if kind == "struct" && p.is("(") {
			t.shapes[name] = rustNewtype(p.inside(), a)
		}
		return nil
	}
	inside := p.inside()
	var s *shape
	if kind == "struct" {
		var err error
		if s, err = inside.fields(a); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	} else {
		s = inside.variants(a)
	}
	s.doc = a.text()
	t.shapes[name] = s
	return nil
}

// rustNewtype returns the shape of a struct with one value.
func rustNewtype(p *rustParser, a rustAttributes) *shape {
	if p.is("pub") {
		p.visibility()
	}
	s := p.shape()
	s.doc = a.text()
	if !p.ends() {
		return refused("a tuple has no schema")
	}
	return s
}

// fields reads the fields of a struct.
func (p *rustParser) fields(of rustAttributes) (*shape, error) {
	s := &shape{kind: object}
	for !p.ends() {
		var a rustAttributes
		p.attributes(&a)
		if p.is("pub") {
			p.visibility()
		}
		name := p.take().text
		if err := p.expect(":"); err != nil {
			return nil, err
		}
		f := field{name: renamed(name, of.serde["rename_all"]), shape: p.whole(), doc: a.text(), inline: a.has("flatten")}
		if to := a.serde["rename"]; to != "" {
			f.name = to
		}
		f.required = f.shape.kind != optional && !a.has("default") && !of.has("default")
		if !a.has("skip") && !a.has("skip_deserializing") {
			s.fields = append(s.fields, f)
		}
		if p.is(",") {
			p.at++
		}
	}
	return s, nil
}

// whole reads a type up to its end.
func (p *rustParser) whole() *shape {
	s := p.shape()
	for !p.ends() && !p.is(",") {
		if s = refused("a schema cannot describe this type"); p.is("(") || p.is("<") || p.is("[") || p.is("{") {
			p.group()
			continue
		}
		p.at++
	}
	return s
}

// variants reads the variants of an enum, which have no values.
func (p *rustParser) variants(of rustAttributes) *shape {
	s := &shape{kind: choice}
	for !p.ends() {
		var a rustAttributes
		p.attributes(&a)
		name := renamed(p.take().text, of.serde["rename_all"])
		if to := a.serde["rename"]; to != "" {
			name = to
		}
		s.variants = append(s.variants, name)
		if p.is("(") || p.is("{") {
			p.group()
			return refused("a variant with values has no schema")
		}
		for !p.ends() && !p.is(",") {
			p.at++ // = 1
		}
		p.at++
	}
	return s
}

// shape reads a type.
func (p *rustParser) shape() *shape {
	if p.levels > maxLevels {
		p.at = len(p.tokens)
		return refused("more than %d levels of brackets", maxLevels)
	}
	for p.is("&") || p.is("mut") || p.is("dyn") || p.is("static") {
		p.at++
	}
	switch {
	case p.is("["):
		inside := p.inside()
		return &shape{kind: list, element: inside.shape()}
	case p.is("("):
		p.group()
		return refused("a tuple has no schema")
	}
	name := p.take().text
	for p.is(":") && p.after(":") {
		p.at += 2
		name = p.take().text
	}
	var parameters *rustParser
	if p.is("<") {
		parameters = p.inside()
	}
	return rustNamed(name, parameters)
}

func rustNamed(name string, parameters *rustParser) *shape {
	if parameters == nil {
		return rustPlain(name)
	}
	first := parameters.shape()
	switch name {
	case "Option":
		return &shape{kind: optional, element: first}
	case "Box", "Rc", "Arc", "Cow":
		for parameters.is(",") {
			parameters.at++
			first = parameters.shape()
		}
		return first
	case "Vec", "VecDeque", "HashSet", "BTreeSet":
		return &shape{kind: list, element: first}
	case "HashMap", "BTreeMap", "IndexMap", "Map":
		if err := parameters.expect(","); err != nil || first.schema["type"] != "string" {
			return refused("the keys of a map must be strings")
		}
		return &shape{kind: dictionary, element: parameters.shape()}
	}
	return refused("the type %s has parameters, and no schema", name)
}

func rustPlain(name string) *shape {
	switch name {
	case "String", "str", "char":
		return leafOf("string")
	case "bool":
		return leafOf("boolean")
	case "i64", "isize", "i128":
		return leafOf("integer", "format", "int64")
	case "i8", "i16", "i32":
		return leafOf("integer", "format", "int32")
	case "u8", "u16", "u32", "u64", "usize", "u128":
		return leafOf("integer", "minimum", 0)
	case "f32", "f64":
		return leafOf("number")
	case "Value", "Map":
		return anything()
	}
	return &shape{kind: reference, name: name}
}

// renamed applies rename_all of serde to the name of a field or of a variant.
func renamed(name, rule string) string {
	words := wordsOf(name)
	switch rule {
	case "lowercase":
		return strings.ToLower(name)
	case "UPPERCASE":
		return strings.ToUpper(name)
	case "snake_case":
		return strings.Join(words, "_")
	case "SCREAMING_SNAKE_CASE":
		return strings.ToUpper(strings.Join(words, "_"))
	case "kebab-case":
		return strings.Join(words, "-")
	case "PascalCase", "camelCase":
		for i, word := range words {
			if i > 0 || rule == "PascalCase" {
				words[i] = strings.ToUpper(word[:1]) + word[1:]
			}
		}
		return strings.Join(words, "")
	}
	return name
}

// wordsOf splits a name into words in lower case.
func wordsOf(name string) []string {
	var words []string
	for part := range strings.SplitSeq(name, "_") {
		begin := 0
		for i, c := range part {
			if i > begin && c >= 'A' && c <= 'Z' {
				words = append(words, strings.ToLower(part[begin:i]))
				begin = i
			}
		}
		if begin < len(part) {
			words = append(words, strings.ToLower(part[begin:]))
		}
	}
	return words
}

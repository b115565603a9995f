package selectors

import (
	"slices"
	"strings"
)

// Namespaces are the patterns of the namespaces that an operator serves. A
// namespace is served if any of them matches.
//
// See https://docs.kopf.dev/en/latest/scopes/
type Namespaces []NamespacePattern

// NamespacePattern is a list of globs with commas between them, such as
// "myapp-*, !*-pr-*, *pr-123". It is compiled once.
type NamespacePattern struct {
	text  string
	globs []namespaceGlob
}

type namespaceGlob struct {
	glob    glob
	negated bool // written with !
}

// ParseNamespaces compiles the patterns. Every text is a valid pattern; some patterns
// match nothing.
func ParseNamespaces(patterns []string) Namespaces {
	list := make(Namespaces, len(patterns))
	for i, pattern := range patterns {
		list[i] = ParseNamespacePattern(pattern)
	}
	return list
}

// ParseNamespacePattern compiles one pattern.
func ParseNamespacePattern(text string) NamespacePattern {
	p := NamespacePattern{text: text}
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		negated := strings.HasPrefix(part, "!")
		if negated && len(p.globs) == 0 { // the first glob includes
			p.globs = append(p.globs, namespaceGlob{glob: parseGlob("*")})
		}
		if negated {
			part = strings.TrimLeft(part, "!")
		}
		p.globs = append(p.globs, namespaceGlob{glob: parseGlob(part), negated: negated})
	}
	return p
}

// String returns the pattern as it was written.
func (p NamespacePattern) String() string { return p.text }

// Match reports whether any of the patterns matches the namespace.
func (n Namespaces) Match(namespace string) bool {
	return slices.ContainsFunc(n, func(p NamespacePattern) bool { return p.Match(namespace) })
}

// Match evaluates the globs from left to right. The first glob must match, or nothing
// does. Later negated globs exclude; later other globs include again what was excluded,
// but never what the first one does not match.
//
// Kopf: kopf._cogs.structs.references.match_namespace.
func (p NamespacePattern) Match(namespace string) bool {
	if len(p.globs) == 0 || !p.globs[0].glob.match(namespace) {
		return false
	}
	matches := true
	for _, g := range p.globs[1:] {
		if matches == g.negated && g.glob.match(namespace) {
			matches = !g.negated
		}
	}
	return matches
}

// Exact returns the patterns that are names, sorted and without duplicates. They can be
// served without listing the namespaces of the cluster.
//
// Kopf: kopf._cogs.structs.references.select_specific_namespaces.
func (n Namespaces) Exact() []string {
	var names []string
	for _, p := range n {
		if !strings.ContainsAny(p.text, "!*?,") {
			names = append(names, p.text)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

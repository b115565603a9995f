package selectors

import "slices"

// glob is a shell pattern with the syntax of Python's fnmatch: *, ?, [abc], [a-z], [!abc].
// There is no escaping; an unclosed bracket is literal. Unlike in path.Match, every
// pattern is valid, and slashes are ordinary characters.
//
// See https://docs.python.org/3/library/fnmatch.html
type glob []globItem

// globItem matches one character; a star matches any number of characters.
type globItem struct {
	star    bool
	negated bool
	ranges  []runeRange
}

type runeRange struct{ low, high rune }

func (item globItem) matches(r rune) bool {
	in := slices.ContainsFunc(item.ranges, func(x runeRange) bool { return x.low <= r && r <= x.high })
	return in != item.negated
}

func parseGlob(text string) glob {
	var g glob
	for rest := []rune(text); len(rest) > 0; {
		size := 1
		switch rest[0] {
		case '*':
			g = append(g, globItem{star: true})
		case '?':
			g = append(g, globItem{negated: true}) // excludes no character
		case '[':
			if size = classSize(rest); size > 0 {
				g = append(g, parseClass(rest[1:size-1]))
				break
			}
			size = 1
			fallthrough
		default:
			g = append(g, globItem{ranges: []runeRange{{rest[0], rest[0]}}})
		}
		rest = rest[size:]
	}
	return g
}

// classSize returns the length of the class in brackets at the start of text, or 0 if it
// is not closed. A closing bracket right at the start is a member.
func classSize(text []rune) int {
	i := 1
	if i < len(text) && text[i] == '!' {
		i++
	}
	if i < len(text) && text[i] == ']' {
		i++
	}
	for ; i < len(text); i++ {
		if text[i] == ']' {
			return i + 1
		}
	}
	return 0
}

// parseClass parses the content of brackets.
func parseClass(text []rune) globItem {
	var item globItem
	if text[0] == '!' {
		item.negated, text = true, text[1:]
	}
	for len(text) > 0 {
		if len(text) >= 3 && text[1] == '-' {
			item.ranges = append(item.ranges, runeRange{text[0], text[2]})
			text = text[3:]
			continue
		}
		item.ranges = append(item.ranges, runeRange{text[0], text[0]})
		text = text[1:]
	}
	return item
}

// match reports whether the whole text matches. A star first matches nothing. When the
// rest fails, the last star matches one more character. Earlier stars never need to
// change, so match takes at most len(glob) * len(text) steps.
func (g glob) match(text string) bool {
	runes := []rune(text)
	at, star, resume := 0, -1, 0
	for i := 0; i < len(runes); {
		switch {
		case at < len(g) && g[at].star:
			star, resume = at, i
			at++
		case at < len(g) && g[at].matches(runes[i]):
			at++
			i++
		case star >= 0:
			resume++
			at, i = star+1, resume
		default:
			return false
		}
	}
	return !slices.ContainsFunc(g[at:], func(item globItem) bool { return !item.star })
}

package selectors

import "slices"

// glob is a shell pattern as Python's fnmatch has them: *, ?, [abc], [a-z],
// [!abc]. There is no escaping; a bracket that is never closed is literal.
// Unlike in path.Match, no pattern is an error, and slashes are nothing special.
//
// See https://docs.python.org/3/library/fnmatch.html
type glob []globItem

// globItem matches one character, or any number of them if it is a star.
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
			g = append(g, globItem{negated: true}) // no character is excluded
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

// classSize is the length of the class in brackets that the text starts with,
// or 0 if it is not closed. A closing bracket right at the start is a member.
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

// parseClass reads the inside of brackets.
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

// match tells whether the whole text matches. A star first takes nothing; each
// time the rest fails, the last star takes one character more. To go back
// further than to the last star never helps, so this takes no more than
// len(glob) * len(text) steps.
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

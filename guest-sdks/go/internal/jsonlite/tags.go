package jsonlite

import "strings"

// jsonTag is the value of the key json in the tag of a field. reflect's own lookup would
// bring the parser of all strings of Go; JSON allows no names with a backslash anyway.
func jsonTag(tag string) string {
	for tag != "" {
		if tag[0] == ' ' {
			tag = tag[1:]
			continue
		}
		name, rest, found := strings.Cut(tag, `:"`)
		end := tagEnd(rest)
		if !found || end < 0 {
			return ""
		}
		if name == "json" {
			return rest[:end]
		}
		tag = rest[end+1:]
	}
	return ""
}

// hasOption tells whether a list with commas has an option.
func hasOption(options, option string) bool {
	for options != "" {
		var first string
		if first, options, _ = strings.Cut(options, ","); first == option {
			return true
		}
	}
	return false
}

// tagEnd is where the value ends that was begun by a quote, or -1.
func tagEnd(text string) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

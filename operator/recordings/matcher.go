package recordings

import (
	"slices"
	"strings"
)

// matcher replaces texts of at least leastSecret bytes. It grows while it is used: a new strings.Replacer for each new text would
// take time that grows with the square of their number. Texts have their first bytes as the key, and the longest come first: a secret
// may be a part of another one.
type matcher map[string][]pair

type pair struct{ text, placeholder string }

func (m matcher) add(text, placeholder string) {
	key := text[:leastSecret]
	at := slices.IndexFunc(m[key], func(p pair) bool { return len(p.text) < len(text) })
	if at < 0 {
		at = len(m[key])
	}
	m[key] = slices.Insert(m[key], at, pair{text, placeholder})
}

func (m matcher) replace(whole string) string {
	var out strings.Builder
	begin := 0 // of what is not in out
	for i := 0; i+leastSecret <= len(whole); i++ {
		known := m[whole[i:i+leastSecret]]
		at := slices.IndexFunc(known, func(p pair) bool { return strings.HasPrefix(whole[i:], p.text) })
		if at < 0 {
			continue
		}
		out.WriteString(whole[begin:i])
		out.WriteString(known[at].placeholder)
		begin = i + len(known[at].text)
		i = begin - 1
	}
	return out.String() + whole[begin:]
}

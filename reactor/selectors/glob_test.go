package selectors

import (
	"strings"
	"testing"
	"time"
)

func TestGlob(t *testing.T) {
	for _, tt := range []struct {
		glob     string
		matching []string
		others   []string
	}{
		{"", []string{""}, []string{"a"}},
		{"ns", []string{"ns"}, []string{"NS", "n", "nss", ""}},
		{"*", []string{"", "a", "a/b"}, nil},
		{"a*c", []string{"ac", "abc", "abcbc"}, []string{"acb", "a", "bac"}},
		{"*a*b*", []string{"ab", "xaxbx"}, []string{"ba", "a"}},
		{"**a", []string{"a", "ba"}, []string{"ab"}},
		{"?", []string{"a", "ü", "*"}, []string{"", "ab"}},
		{"a?*", []string{"ab", "abc"}, []string{"a"}},
		{"[ab]x", []string{"ax", "bx"}, []string{"cx", "[ab]x"}},
		{"[!ab]", []string{"c", "!"}, []string{"a", "b", ""}},
		{"[^a]", []string{"^", "a"}, []string{"b"}},
		{"[a-c]", []string{"a", "b", "c"}, []string{"d", "-"}},
		{"[c-a]", nil, []string{"a", "b", "c", "-"}},
		{"[a-]", []string{"a", "-"}, []string{"b"}},
		{"[-a]", []string{"a", "-"}, []string{"b"}},
		{"[a-c-e]", []string{"b", "-", "e"}, []string{"d"}},
		{"[]a]", []string{"]", "a"}, []string{"[", "b"}},
		{"[!]a]", []string{"b"}, []string{"]", "a"}},
		{"[", []string{"["}, []string{"a"}},
		{"[!", []string{"[!"}, []string{"a"}},
		{"[]", []string{"[]"}, []string{"]"}},
		{"a[b", []string{"a[b"}, []string{"ab"}},
		{`\*`, []string{`\`, `\a`}, []string{"*"}},
	} {
		t.Run(tt.glob, func(t *testing.T) {
			g := parseGlob(tt.glob)
			for _, text := range tt.matching {
				if !g.match(text) {
					t.Errorf("does not match %q", text)
				}
			}
			for _, text := range tt.others {
				if g.match(text) {
					t.Errorf("matches %q", text)
				}
			}
		})
	}
}

// Backtracking to every star would take practically for ever.
func TestGlobIsNeverSlow(t *testing.T) {
	g := parseGlob(strings.Repeat("a*", 30) + "b")
	start := time.Now()
	if g.match(strings.Repeat("a", 1000)) {
		t.Error("matches")
	}
	if spent := time.Since(start); spent > 5*time.Second {
		t.Errorf("took %s", spent)
	}
}

func TestNamespaces(t *testing.T) {
	n := ParseNamespaces([]string{"one", "team-*, !team-x"})
	for name, want := range map[string]bool{"one": true, "team-a": true, "team-x": false, "two": false} {
		if got := n.Match(name); got != want {
			t.Errorf("%s: got %t", name, got)
		}
	}
	if ParseNamespacePattern("!!one").Match("one") {
		t.Error("a double negation is not a negation")
	}
	if ParseNamespaces(nil).Match("one") {
		t.Error("no patterns match something")
	}
	if (NamespacePattern{}).Match("") {
		t.Error("no globs match something")
	}
}

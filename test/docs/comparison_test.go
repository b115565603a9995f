package docs

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// compared are the files of the same operator, as docs/comparison.md calls them.
var compared = []struct{ name, path string }{
	{"Kopf, in Python", "examples/02-children/example.py"},
	{"Python", "examples/02-children/operator.py"},
	{"JavaScript", "examples/02-children/operator.js"},
	{"Go", "examples/02-children/main.go"},
	{"Rust", "examples/02-children/lib.rs"},
	{"controller-runtime", "test/bench/peers/controller-runtime/children/main.go"},
	{"kube-rs", "test/bench/peers/kube-rs/src/bin/children.rs"},
}

// The figures in the comparison are those of the files, which other tests compile or run.
func TestComparison(t *testing.T) {
	page := manual(t, "comparison.md").text
	for _, c := range compared {
		row := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(c.name) + ` \| \[[^]]*\]\(\.\./` + regexp.QuoteMeta(c.path) + `\) \| (\d+) \|`).FindStringSubmatch(page)
		want := fmt.Sprint(linesOfCode(read(t, c.path)))
		switch {
		case row == nil:
			t.Errorf("docs/comparison.md: no row for %s with a link to %s; it has %s lines", c.name, c.path, want)
		case row[1] != want:
			t.Errorf("docs/comparison.md: %s has %s lines, not %s", c.name, want, row[1])
		}
	}
}

// comment matches lines with nothing but a comment or a short docstring.
var comment = regexp.MustCompile(`^(//|#[^\[]|#$|/\*.*\*/$|""".*"""$)`)

// linesOfCode counts the lines that are neither empty nor a comment.
func linesOfCode(text string) int {
	count := 0
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !comment.MatchString(line) {
			count++
		}
	}
	return count
}

func TestLinesOfCode(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "\n \n": 0, "// a\n/// b\n//! c\n": 0, "# a\n#\n": 0, "#[kopf::create]\nfn f() {} // c\n": 2, "\"\"\"A docstring.\"\"\"\n": 0, "/** @param {x} */\nx\n": 1, "x = 1  # y": 1,
	} {
		if got := linesOfCode(text); got != want {
			t.Errorf("%q: %d lines, want %d", text, got, want)
		}
	}
}

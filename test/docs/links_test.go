package docs

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

// Links between the pages lead to files and headings that exist.
func TestLinks(t *testing.T) {
	anchors := map[string][]string{}
	for _, p := range append(pages(t), page{"abi/SPEC.md", read(t, "abi/SPEC.md")}) {
		anchors[p.path] = p.anchors()
	}
	for _, p := range pages(t) {
		for _, match := range link.FindAllStringSubmatch(p.prose(), -1) {
			if problem := brokenLink(p.path, match[1], anchors); problem != "" {
				t.Errorf("%s: (%s): %s", p.path, match[1], problem)
			}
		}
	}
}

// Each page of the manual is in its table of contents. Advisories are no pages of it.
func TestContents(t *testing.T) {
	contents := manual(t, "README.md")
	for _, path := range files(t, "docs", ".md") {
		name := strings.TrimPrefix(path, "docs/")
		if name != "README.md" && !strings.HasPrefix(name, "advisories/") && !strings.Contains(contents.text, "("+name+")") {
			t.Errorf("docs/README.md does not mention %s", name)
		}
	}
}

// brokenLink tells what is wrong with a link of a page.
func brokenLink(from, target string, anchors map[string][]string) string {
	if strings.Contains(target, "://") {
		return ""
	}
	path, anchor, hasAnchor := strings.Cut(target, "#")
	file := from
	if path != "" {
		file = filepath.Join(filepath.Dir(from), path)
	}
	if _, err := os.Stat(filepath.Join(root, file)); err != nil {
		return "no such file"
	}
	if hasAnchor && !slices.Contains(anchors[file], anchor) {
		return "no such heading; there are: " + strings.Join(anchors[file], ", ")
	}
	return ""
}

// anchors are the headings of a page as the parts of links after the #.
func (p page) anchors() []string {
	found := map[string]bool{}
	for _, match := range heading.FindAllStringSubmatch(p.prose(), -1) {
		found[anchorOf(match[1])] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// anchorOf makes the anchor of a heading as GitHub does.
func anchorOf(title string) string {
	var out strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case r == ' ' || r == '-':
			out.WriteByte('-')
		case r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			out.WriteRune(r)
		}
	}
	return out.String()
}

func TestBrokenLink(t *testing.T) {
	anchors := map[string][]string{"docs/cli.md": {"kopf-run"}}
	tests := []struct {
		name, from, target string
		broken             bool
	}{
		{"another site", "README.md", "https://docs.kopf.dev/", false},
		{"a file", "README.md", "docs/cli.md", false},
		{"a folder", "README.md", "examples", false},
		{"from below", "docs/cli.md", "../abi/SPEC.md", false},
		{"a heading", "README.md", "docs/cli.md#kopf-run", false},
		{"a heading of the page", "docs/cli.md", "#kopf-run", false},
		{"no file", "README.md", "docs/nothing.md", true},
		{"no heading", "README.md", "docs/cli.md#nothing", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := brokenLink(tt.from, tt.target, anchors); (got != "") != tt.broken {
				t.Errorf("got %q, want broken: %v", got, tt.broken)
			}
		})
	}
	if got := anchorOf("Why `transform`, and not JSON?"); got != "why-transform-and-not-json" {
		t.Errorf("got the anchor %q", got)
	}
}

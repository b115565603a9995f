// Package docs checks the manual against the code: the snippets compile, the
// links lead somewhere, and the tables of flags, settings and limits are complete.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the folder of the repository.
const root = "../.."

// page is a text of the manual.
type page struct {
	path string // from the root
	text string
}

// block is a fenced part of a page.
type block struct {
	line int // of the fence
	lang string
	text string
}

// pages are the manual, and the other texts that link to it.
func pages(t *testing.T) []page {
	t.Helper()
	paths := []string{"README.md", "SECURITY.md", "CHANGELOG.md", "CONTRIBUTING.md", "RATIONALE.md"}
	for _, folder := range []string{"docs", "examples"} {
		paths = append(paths, files(t, folder, ".md")...)
	}
	list := make([]page, len(paths))
	for i, path := range paths {
		list[i] = page{path, read(t, path)}
	}
	return list
}

// manual is one page of docs.
func manual(t *testing.T, name string) page {
	t.Helper()
	path := filepath.Join("docs", name)
	return page{path, read(t, path)}
}

// files lists the files below a folder by the end of their names.
func files(t *testing.T, folder, suffix string) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, suffix) {
			return err
		}
		path, err = filepath.Rel(root, path)
		paths = append(paths, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	return paths
}

// read reads a file of the repository. That the test itself opens it makes the
// cache of go test notice changes.
func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// blocks are the fenced parts of a page, in their order.
func (p page) blocks() []block {
	var found []block
	open := -1
	for i, line := range strings.Split(p.text, "\n") {
		fence, isFence := strings.CutPrefix(strings.TrimLeft(line, " "), "```")
		switch {
		case isFence && open < 0:
			found = append(found, block{line: i + 1, lang: strings.TrimSpace(fence)})
			open = i
		case isFence:
			open = -1
		case open >= 0:
			found[len(found)-1].text += line + "\n"
		}
	}
	return found
}

// prose is the page without the fenced parts.
func (p page) prose() string {
	var out strings.Builder
	fenced := false
	for line := range strings.Lines(p.text) {
		if strings.HasPrefix(strings.TrimLeft(line, " "), "```") {
			fenced = !fenced
			continue
		}
		if !fenced {
			out.WriteString(line)
		}
	}
	return out.String()
}

func TestBlocks(t *testing.T) {
	p := page{text: "a\n```go\nx\n\ty\n```\nb\n```\nz\n```\n"}
	want := []block{{2, "go", "x\n\ty\n"}, {7, "", "z\n"}}
	if got := p.blocks(); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := p.prose(); got != "a\nb\n" {
		t.Errorf("got the prose %q", got)
	}
}

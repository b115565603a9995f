package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// languages are those of operators, in the order of the tabs.
var languages = []string{"python", "go", "rust", "javascript"}

// Code in the manual is cut from files that are compiled or loaded, and nothing is compiled
// for the manual that is not shown in it. The Rust of it is compiled by scripts/rust-test.sh,
// and scripts are loaded by TestSnippetsOfScripts.
func TestSnippets(t *testing.T) {
	shown := map[region]bool{}
	all := compiled(t)
	for _, p := range pages(t) {
		for _, b := range p.blocks() {
			if !slices.Contains(languages, b.lang) || p.path == "README.md" && b.lang != "python" {
				continue // see TestReadmeProgram
			}
			found := false
			for _, r := range all {
				if r.text == b.text {
					shown[r], found = true, true
				}
			}
			if !found {
				t.Errorf("%s:%d: this is not a region of a compiled file:\n%s", p.path, b.line, b.text)
			}
		}
	}
	for _, r := range all {
		if !shown[r] {
			t.Errorf("%s: no page shows the region %s", r.path, r.name)
		}
	}
}

// some are topics that not all languages have.
var some = map[string][]string{
	"conversion/test":    {"go", "rust"}, // scripts have no library for tests
	"daemons/background": {"go", "rust"}, // scripts have no background handlers
	"kwargs/spec":        {"go", "rust"}, // scripts have no types that are checked
}

// Each snippet of a handler is shown in all languages, one after another: the site makes tabs of
// them. Pages of one language, and of programs that are no operators, show what they are about.
func TestSnippetsAreInAllLanguages(t *testing.T) {
	regions := compiled(t)
	for _, path := range files(t, "docs", ".md") {
		if slices.Contains([]string{"docs/embedding.md", "docs/python.md", "docs/scripts.md", "docs/testing.md"}, path) {
			continue
		}
		p := page{path, read(t, path)}
		for _, group := range p.groups() {
			topics := map[string][]string{}
			for _, b := range group {
				if i := slices.IndexFunc(regions, func(r region) bool { return r.text == b.text }); i >= 0 {
					topics[regions[i].topic()] = append(topics[regions[i].topic()], b.lang)
				}
			}
			for topic, shown := range topics {
				want := some[topic]
				if want == nil {
					want = languages
				}
				if !slices.Equal(shown, want) {
					t.Errorf("%s:%d: %s is shown in %v, want %v", path, group[0].line, topic, shown, want)
				}
			}
		}
	}
}

// groups are the fenced parts in languages of operators between which there is no text.
func (p page) groups() [][]block {
	var groups [][]block
	lines, end := strings.Split(p.text, "\n"), 0
	for _, b := range p.blocks() {
		if !slices.Contains(languages, b.lang) {
			continue
		}
		if end == 0 || strings.TrimSpace(strings.Join(lines[end:b.line-1], "")) != "" {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], b)
		end = b.line + strings.Count(b.text, "\n") + 1
	}
	return groups
}

func TestGroups(t *testing.T) {
	p := page{text: "a\n```go\nx\n```\n\n```rust\ny\n```\nb\n```text\nz\n```\n```go\nx\n```\n"}
	want := [][]block{{{2, "go", "x\n"}, {6, "rust", "y\n"}}, {{13, "go", "x\n"}}}
	if got := p.groups(); !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// The snippets compile as guests, and their tests pass natively.
func TestSnippetsCompile(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"docs/snippets", "guest-sdks/go", "abi"} {
		for _, path := range files(t, folder, ".go") {
			read(t, path) // so that the cache of go test knows
		}
	}
	goCommand(t, "docs/snippets", []string{"GOOS=wasip1", "GOARCH=wasm"}, "vet", "./...")
	goCommand(t, "docs/snippets", nil, "test", "./...")
	goCommand(t, "docs/snippets", nil, "vet", "-tags", "cluster", "./...") // those that need one are not run
}

// goCommand runs the go command in a folder of the repository.
func goCommand(t *testing.T, folder string, env []string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = filepath.Join(root, folder)
	cmd.Env = append(os.Environ(), append(env, "GOWORK=off", "GOFLAGS=-buildvcs=false "+os.Getenv("GOFLAGS"))...)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v in %s: %v\n%s", cmd.Args, folder, err, output)
	}
}

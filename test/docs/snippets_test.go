package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Go and Rust in the manual are cut from code that compiles, and nothing is compiled
// for the manual that is not shown in it. The Rust of it is compiled by scripts/rust-test.sh.
func TestSnippets(t *testing.T) {
	shown := map[region]bool{}
	all := compiled(t)
	for _, p := range pages(t) {
		if p.path == "README.md" {
			continue // see TestReadmeProgram
		}
		for _, b := range p.blocks() {
			if b.lang != "go" && b.lang != "rust" {
				continue
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
	cmd.Env = append(os.Environ(), append(env, "GOWORK=off", "GOFLAGS=-buildvcs=false")...)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v in %s: %v\n%s", cmd.Args, folder, err, output)
	}
}

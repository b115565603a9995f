package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/internal/pathtest"
)

// walk is what a reader of the walkthrough does in one language.
type walk struct {
	language, source, module string
	removed                  string            // the tests of the greetings
	changed                  map[string]string // parts of operator_test.yaml, as the page says
}

var walks = []walk{
	{"go", "main.go", "memberships.wasm", "main_test.go", nil},
	{"rust", "src/lib.rs", "memberships.wasm", "", map[string]string{`status: {begin: {expires: "2026-01-31"}}`: "status: {begin: {days: 30}}"}},
	{"javascript", "operator.js", "operator.js", "operator.test.js", map[string]string{"module: memberships.wasm": "module: operator.js"}},
	{"python", "handlers.py", "handlers.py", "test_handlers.py", map[string]string{"module: memberships.wasm": "module: handlers.py"}},
}

// TestWalkthrough: in each language, the files of the page become an operator that passes the
// scenario of the page. The files that `kopf new` writes have the names of the page.
func TestWalkthrough(t *testing.T) {
	t.Parallel()
	page, program, root := manual(t, "walkthrough.md"), buildProgram(t), pathtest.Absolute(t, root)
	for _, w := range walks {
		t.Run(w.language, func(t *testing.T) {
			t.Parallel()
			if w.module != "memberships.wasm" {
				if _, err := os.Stat(filepath.Join(root, "bin", "engines", w.language+".wasm")); err != nil {
					skip(t, "there is no engine: `make engines` builds it, or says what is missing")
				}
			}
			kopf := func(args ...string) string {
				cmd := exec.CommandContext(t.Context(), program, args...)
				cmd.Env = append(os.Environ(), "CARGO_TARGET_DIR="+filepath.Join(root, ".cache", "rust", "target")) // the crates are built once
				output, err := cmd.CombinedOutput()
				if cmd.ProcessState.ExitCode() == 6 {
					skip(t, string(output))
				}
				if err != nil {
					t.Fatalf("kopf %v: %v\n%s", args, err, output)
				}
				return string(output)
			}
			folder := filepath.Join(t.TempDir(), "memberships")
			kopf("new", folder, "--lang", w.language, "--sdk", root)
			if w.language == "rust" { // the versions that are here
				if err := os.WriteFile(filepath.Join(folder, "Cargo.lock"), []byte(read(t, "examples/Cargo.lock")), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			w.follow(t, page, folder)
			engine := []string{}
			if w.module != "memberships.wasm" {
				engine = []string{"--engine", filepath.Join(root, "bin", "engines", w.language+".wasm")}
			}
			if built := kopf(append([]string{"build", folder}, engine...)...); !strings.Contains(built, "3 handlers (create begin, field renew, delete end)") {
				t.Errorf("kopf build: %s", built)
			}
			if tested := kopf(append([]string{"test", folder, "--limit", "RegisterTimeout=1m"}, engine...)...); !strings.HasSuffix(tested, "1 passed, 0 failed\n") {
				t.Errorf("kopf test: %s", tested)
			}
			w.addCard(t, page, filepath.Join(folder, w.source))
			if built := kopf(append([]string{"build", folder}, engine...)...); !strings.Contains(built, "6 handlers (") || !strings.Contains(built, "create card") {
				t.Errorf("kopf build, with a card: %s", built)
			}
		})
	}
}

// follow replaces files of a new project by those of the page.
func (w walk) follow(t *testing.T, page page, folder string) {
	t.Helper()
	var data []string
	source := ""
	for _, b := range page.blocks() {
		switch {
		case b.lang == "yaml":
			data = append(data, b.text)
		case b.lang == w.language && source == "":
			source = b.text
		}
	}
	scenario := data[2]
	for old, replacement := range w.changed {
		if !strings.Contains(scenario, old) || !strings.Contains(page.text, "`"+replacement+"`") {
			t.Errorf("the page does not say that %q becomes %q", old, replacement)
		}
		scenario = strings.ReplaceAll(scenario, old, replacement)
	}
	for name, text := range map[string]string{"crd.yaml": data[0], "obj.yaml": data[1], w.source: source, "operator_test.yaml": scenario} {
		if !strings.Contains(page.text, "`"+name+"`") {
			t.Errorf("the page does not name %s", name)
		}
		path := filepath.Join(folder, name)
		if _, err := os.Stat(path); err != nil {
			t.Errorf("kopf new does not write %s", name)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if w.removed != "" {
		if err := os.Remove(filepath.Join(folder, w.removed)); err != nil {
			t.Error(err)
		}
	}
	if w.language == "rust" {
		w.addSerde(t, page, filepath.Join(folder, "Cargo.toml"))
	}
}

// addCard adds the second part of the page to the source.
func (w walk) addCard(t *testing.T, page page, path string) {
	t.Helper()
	var parts []string
	for _, b := range page.blocks() {
		if b.lang == w.language {
			parts = append(parts, b.text)
		}
	}
	text := strings.Join(parts, "\n")
	if w.language == "rust" { // as the page says
		text = strings.NewReplacer(
			"use kopf::{Change, Error, Value, json};", "use kopf::{Capabilities, Change, Error, Value, json};",
			"use kopf::{Capabilities, Change, Value, json};", "",
			"kopf::operator!(begin, renew, end);", "",
			"handlers: [card]", "handlers: [begin, renew, end, card]",
		).Replace(text)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// addSerde adds the dependency that the page names.
func (w walk) addSerde(t *testing.T, page page, path string) {
	t.Helper()
	const line = `serde = { version = "1", features = ["derive"] }`
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(page.text, "`"+line+"`") {
		t.Fatalf("%v; the page names %s: %v", err, line, strings.Contains(page.text, line))
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), "[dependencies]\n", "[dependencies]\n"+line+"\n", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

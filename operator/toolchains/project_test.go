package toolchains

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/internal/programtest"
)

// folder makes a folder with these files, which are empty unless they have a text.
func folder(t *testing.T, files ...string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "greeter")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name, text, _ := strings.Cut(file, "=")
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestLanguagesAreFoundByTheirFiles(t *testing.T) {
	for _, c := range []struct {
		files    []string
		language Language
		script   string
	}{
		{[]string{"go.mod", "main.go", "tools.py"}, Go, ""},
		{[]string{"Cargo.toml", "build.js"}, Rust, ""},
		{[]string{`package.json={"devDependencies": {"assemblyscript": "1"}}`, "main.ts", "tool.js"}, AssemblyScript, ""},
		{[]string{`package.json={"assemblyscript" oops`, "main.ts"}, AssemblyScript, ""},
		{[]string{`package.json={"devDependencies": {"eslint": "1"}}`, "operator.js"}, JavaScript, "operator.js"},
		{[]string{"main.c", "kopf.h"}, C, ""},
		{[]string{"whatever.py", "test_whatever.py", "conftest.py"}, Python, "whatever.py"},
		{[]string{"handlers.py", "helpers.py", "main.py"}, Python, "handlers.py"},
		{[]string{"operator.mjs", "operator.test.mjs"}, JavaScript, "operator.mjs"},
	} {
		p, err := Find(folder(t, c.files...))
		if err != nil {
			t.Errorf("%v: %v", c.files, err)
			continue
		}
		script := ""
		if p.Script != "" {
			script = filepath.Base(p.Script)
		}
		if p.Language != c.language || script != c.script {
			t.Errorf("%v: %s %q, want %s %q", c.files, p.Language, script, c.language, c.script)
		}
		if output := p.Output(); (output == "") != (c.script != "") || output != "" && filepath.Base(output) != "greeter.wasm" {
			t.Errorf("%v: the output is %q", c.files, output)
		}
	}
}

func TestScriptsAreFoundByTheirPaths(t *testing.T) {
	dir := folder(t, "a.py", "b.py")
	if p, err := Find(filepath.Join(dir, "b.py")); err != nil || p.Language != Python || p.Script != filepath.Join(dir, "b.py") {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestFoldersWithoutAnOperatorAreRefused(t *testing.T) {
	for want, files := range map[error][]string{ErrNoProject: {"README.md"}, ErrManyScripts: {"a.py", "b.py"}} {
		if _, err := Find(folder(t, files...)); !errors.Is(err, want) {
			t.Errorf("%v: %v", files, err)
		}
	}
	if _, err := Find(filepath.Join(folder(t, "main.ts"), "main.ts")); !errors.Is(err, ErrNoProject) {
		t.Errorf("a file that is no script: %v", err)
	}
	if _, err := Find(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
}

func TestTargetOfCargoIsChosenByItsTable(t *testing.T) {
	p, err := Find(folder(t, "Cargo.toml=[package]\ntarget = \"x\"\n[package.metadata.kopf] # of kopf build\ntarget = \"wasm32-wasip1\" # for the clock\n"))
	if err != nil || p.crate.target != wasiTarget {
		t.Errorf("the target is %q, %v", p.crate.target, err)
	}
	if _, err := Find(folder(t, "Cargo.toml=[package.metadata.kopf]\ntarget = \"x86_64-linux\"\n")); err == nil || !strings.Contains(err.Error(), `"x86_64-linux"`) {
		t.Errorf("another target: %v", err)
	}
}

// tool puts a program of the shell into the PATH, which has nothing else but the shell's own.
func tool(t *testing.T, programs map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range programs {
		programtest.Write(t, filepath.Join(dir, name), text)
	}
	t.Setenv("PATH", dir)
}

func TestMissingToolsAreNamed(t *testing.T) {
	tool(t, nil)
	for want, file := range map[string]string{
		"Go 1.24 or later is missing: install it by https://go.dev/dl/":                        "go.mod",
		"npm is missing: install it by":                                                        `package.json={"dependencies": {"assemblyscript": "1"}}`,
		"clang with wasm-ld is missing: install it by sudo apt-get install -y clang-19 lld-19": "main.c",
	} {
		p, err := Find(folder(t, file))
		if err != nil {
			t.Fatal(err)
		}
		err = p.Build(t.Context(), p.Output(), &bytes.Buffer{})
		if !errors.As(err, new(*MissingError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
		if _, err := Look(t.Context(), p.Language); !errors.As(err, new(*MissingError)) {
			t.Errorf("%s is found: %v", p.Language, err)
		}
	}
}

func TestOldGoIsMissingGo(t *testing.T) {
	tool(t, map[string]string{"go": "echo go1.19.8"})
	_, err := Look(t.Context(), Go)
	if !errors.As(err, new(*MissingError)) || !strings.Contains(err.Error(), "is go1.19.8") {
		t.Errorf("%v", err)
	}
}

// TestCompileErrors: the compiler's messages are unchanged, and the module of the last build stays.
func TestCompileErrors(t *testing.T) {
	const message = "main.c:1:1: \x1b[31merror\x1b[0m: no\n\tsuch thing\n"
	tool(t, map[string]string{"wasm-ld": "", "clang": "printf '%b' '" + strings.NewReplacer("\x1b", `\033`, "\n", `\n`, "\t", `\t`).Replace(message) + "' >&2; exit 3"})
	dir := folder(t, "main.c", "greeter.wasm=old")
	p, err := Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	var messages bytes.Buffer
	err = p.Build(t.Context(), p.Output(), &messages)
	if !errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), "clang ended with exit status 3") {
		t.Errorf("%v", err)
	}
	if messages.String() != message {
		t.Errorf("the messages are %q", messages.String())
	}
	if files, _ := filepath.Glob(dir + "/*"); len(files) != 2 {
		t.Errorf("the folder has %v", files)
	}
	if old, err := os.ReadFile(p.Output()); err != nil || string(old) != "old" {
		t.Errorf("the module is %q, %v", old, err)
	}
}

func TestModulesAreReplacedAtOnce(t *testing.T) {
	tool(t, map[string]string{"wasm-ld": "", "clang": `while [ "$1" != -o ]; do shift; done; echo new >"$2"`})
	p, err := Find(folder(t, "main.c", "greeter.wasm=old"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Build(t.Context(), p.Output(), &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(p.Output()); err != nil || string(text) != "new\n" {
		t.Errorf("the module is %q, %v", text, err)
	}
}

// TestBuildsDoNotWriteThroughLinks: the output may be in a folder like /tmp, where others can guess names.
func TestBuildsDoNotWriteThroughLinks(t *testing.T) {
	tool(t, map[string]string{"wasm-ld": "", "clang": `while [ "$1" != -o ]; do shift; done; echo new >"$2"`})
	dir := folder(t, "main.c", "mine=mine")
	p, err := Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("mine", filepath.Join(dir, ".new-greeter.wasm")); err != nil {
		t.Fatal(err)
	}
	if err := p.Build(t.Context(), p.Output(), &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "mine")); err != nil || string(text) != "mine" {
		t.Errorf("the linked file is %q, %v", text, err)
	}
	if hidden, _ := filepath.Glob(filepath.Join(dir, ".new-*")); len(hidden) != 1 {
		t.Errorf("the folder has %v", hidden)
	}
}

func TestModuleIsFoundAmongTheMessagesOfCargo(t *testing.T) {
	messages := `{"reason":"compiler-artifact","filenames":["/t/libserde.rlib"]}
{"reason":"compiler-artifact","filenames":["/t/a.wasm"]}
what a build script prints
{"reason":"build-finished","success":true}
`
	if path, err := moduleOf(strings.NewReader(messages)); err != nil || path != "/t/a.wasm" {
		t.Errorf("%q, %v", path, err)
	}
	if _, err := moduleOf(strings.NewReader("{}")); !errors.Is(err, ErrCrate) {
		t.Errorf("a crate without a module: %v", err)
	}
}

func TestHeadersOfTheStandardLibraryNeedItsLibc(t *testing.T) {
	dir := folder(t, "a.c=#include <stdint.h>\n#include \"kopf.h\"\n", "b.c=int x;\n # include <string.h>\n")
	for file, want := range map[string]bool{"a.c": false, "b.c": true} {
		if standard, err := includesStandard([]string{filepath.Join(dir, file)}); err != nil || standard != want {
			t.Errorf("%s: %v, %v", file, standard, err)
		}
	}
}

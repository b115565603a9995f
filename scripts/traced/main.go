// Package main makes a copy of the engine's module that reports what its readers of function bodies see: the
// validator, the compiler and the interpreter call a hook before each instruction, and after each number. The copy is
// for tests: see host/prepare/engines_test.go. Where a hook belongs is found in the parsed source. If the engine has
// changed there, nothing is written.
package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

//go:embed hooks
var hooks embed.FS

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: traced MODULE COPY")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "the copy of the engine with hooks:", err)
		os.Exit(1)
	}
}

// sites are the files that hooks go into, and the files of ours that are added to their packages.
var sites = []struct {
	file, added string
	calls       []call
}{
	{file: "api/wasm.go", added: "api.go.txt"},
	{file: "internal/leb128/leb128.go", added: "leb128.go.txt", calls: []call{
		atHead("", "LoadUint32", "defer trace(&ret, &err)"),
		atHead("", "LoadInt32", "defer trace(&ret, &err)"),
		atHead("", "LoadInt64", "defer trace(&ret, &err)"),
		atHead("", "DecodeUint32", "defer trace(&ret, &err)"),
		atHead("", "DecodeInt32", "defer trace(&ret, &err)"),
		atHead("", "DecodeInt64", "defer trace(&ret, &err)"),
		atHead("", "DecodeInt33AsInt64", "defer trace(&ret, &err)"),
	}},
	{file: "internal/wasm/func_validation.go", added: "wasm.go.txt", calls: []call{
		inLoop("Module", "validateFunctionWithMaxStackValues", "op := body[pc]", "traceInstruction(pc, code, valueTypeStack.stack)"),
	}},
	{file: "internal/engine/wazevo/frontend/lower.go", added: "frontend.go.txt", calls: []call{
		atHead("Compiler", "lowerCurrentOpcode", "c.trace()"),
	}},
	{file: "internal/engine/interpreter/compiler.go", added: "interpreter.go.txt", calls: []call{
		atHead("compiler", "handleInstruction", "c.trace()"),
	}},
}

// run copies the module and puts the hooks in. What is there already is replaced.
func run(module, dir string) error {
	changed := map[string][]byte{}
	for _, s := range sites {
		src, err := os.ReadFile(filepath.Join(module, s.file))
		if err != nil {
			return err
		}
		if changed[s.file], err = hooked(s.file, src, s.calls); err != nil {
			return err
		}
		if changed[filepath.Join(filepath.Dir(s.file), "traced.go")], err = hooks.ReadFile("hooks/" + s.added); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := copyModule(module, dir); err != nil {
		return err
	}
	for file, src := range changed {
		if err := write(filepath.Join(dir, file), src); err != nil {
			return err
		}
	}
	return nil
}

// copyModule copies what is compiled: not the tests, which are large.
func copyModule(module, dir string) error {
	return filepath.WalkDir(module, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(module, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			switch rel {
			case "cmd", "examples", "internal/integration_test", "site", "testdata":
				return fs.SkipDir
			}
			return nil
		}
		if rel != "go.mod" && !compiled(rel) {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return write(filepath.Join(dir, rel), src)
	})
}

// compiled tells files that a build reads.
func compiled(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".s" || ext == ".S" || ext == ".h" || ext == ".go" && !strings.HasSuffix(name, "_test.go")
}

func write(file string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o644)
}

var errMoved = errors.New("the engine has changed: no place for a hook")

package toolchains

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Targets of Rust, in the order of preference: the first one makes smaller modules, and needs no
// libc.
const (
	bareTarget = "wasm32-unknown-unknown"
	wasiTarget = "wasm32-wasip1"
)

// ErrCrate says that Cargo.toml is not that of an operator.
var ErrCrate = errors.New("the crate makes no module")

// manifest is what Cargo.toml says about the module.
type manifest struct {
	target string // the target that the author has chosen; empty: any
}

// read reads the target, which is a line of the table package.metadata.kopf. Cargo reports
// everything that is wrong with the file.
func (m *manifest) read(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	table := ""
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#") // no target has one in its name
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			table = line
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || table != "[package.metadata.kopf]" || strings.TrimSpace(key) != "target" {
			continue
		}
		m.target = strings.Trim(strings.TrimSpace(value), `"'`)
		if m.target != bareTarget && m.target != wasiTarget {
			return fmt.Errorf("%s: the target %q of [package.metadata.kopf] makes no operators: want %s or %s", path, m.target, bareTarget, wasiTarget)
		}
	}
	return nil
}

// rust is a tool chain of Rust.
type rust struct {
	cargo, version string
	target         string
	variables      []string
	debian         bool // it has no standard library for the target
}

func (p *Project) buildRust(ctx context.Context, output string, messages io.Writer) error {
	tools, err := findRust(ctx, p.Folder, p.crate.target)
	if err != nil {
		return err
	}
	if tools.debian {
		if err := tools.complete(ctx, messages); err != nil {
			return err
		}
	}
	build := command{
		folder: p.Folder, name: tools.cargo, variables: tools.variables,
		arguments: []string{"build", "--release", "--lib", "--target", tools.target, "--message-format=json-render-diagnostics"},
	}
	cmd := build.prepare(ctx)
	var artifacts bytes.Buffer
	cmd.Stdout, cmd.Stderr = &artifacts, messages
	if err := build.failure(ctx, cmd.Run()); err != nil {
		return err
	}
	module, err := moduleOf(&artifacts)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(p.Folder, "Cargo.toml"), err)
	}
	return copyFile(output, module)
}

// moduleOf finds the module among the messages of cargo: the last artifact that is one.
func moduleOf(messages io.Reader) (path string, err error) {
	lines := bufio.NewReader(messages)
	for {
		line, end := lines.ReadBytes('\n')
		var message struct {
			Reason    string
			Filenames []string
		}
		if json.Unmarshal(line, &message) == nil && message.Reason == "compiler-artifact" {
			for _, name := range message.Filenames {
				if filepath.Ext(name) == ".wasm" {
					path = name
				}
			}
		}
		if end != nil {
			break
		}
	}
	if path == "" {
		return "", fmt.Errorf("%w: it needs these lines:\n    [lib]\n    crate-type = [\"cdylib\"]", ErrCrate)
	}
	return path, nil
}

// findRust finds a tool chain with a target, or that of Debian, which comes without
// targets and with the source of the standard library.
func findRust(ctx context.Context, folder, wanted string) (*rust, error) {
	targets := []string{bareTarget, wasiTarget}
	if wanted != "" {
		targets = []string{wanted}
	}
	cargo, hasCargo := lookup("cargo")
	compiler, hasCompiler := lookup("rustc")
	if hasCargo && hasCompiler {
		for _, target := range targets {
			libraries := command{folder: folder, name: compiler, arguments: []string{"--print", "target-libdir", "--target", target}}.answer(ctx)
			if libraries == "" || !isFolder(libraries) {
				continue
			}
			version := command{folder: folder, name: compiler, arguments: []string{"--version"}}.answer(ctx)
			return &rust{cargo: cargo, version: version, target: target}, nil
		}
	}
	if tools, ok := findDebian(ctx, targets[0]); ok {
		return tools, nil
	}
	packages := "rustc-web cargo-web rust-web-src lld-19"
	if targets[0] == wasiTarget {
		packages += " wasi-libc"
	}
	missing := &MissingError{What: "Rust for WebAssembly", Get: []string{"rustup target add " + targets[0], "sudo apt-get install -y " + packages + " (Debian)"}}
	if !hasCargo {
		missing.Get[0] += " (after https://rustup.rs)"
	}
	return nil, missing
}

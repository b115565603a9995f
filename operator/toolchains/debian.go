package toolchains

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// findDebian finds the compiler, the linker and the sources of Debian's packages.
func findDebian(ctx context.Context, target string) (*rust, bool) {
	const cargo, compiler = "/usr/bin/cargo", "/usr/bin/rustc"
	linkers, _ := filepath.Glob("/usr/bin/wasm-ld*") // the pattern is valid
	if !isProgram(cargo) || !isProgram(compiler) || len(linkers) == 0 || target == wasiTarget && !isFolder(wasiLibc) {
		return nil, false
	}
	version := command{name: compiler, arguments: []string{"--version"}}.answer(ctx)
	root := command{name: compiler, arguments: []string{"--print", "sysroot"}}.answer(ctx)
	if root == "" || !isFolder(filepath.Join(root, "lib/rustlib/src/rust/library/std")) {
		return nil, false
	}
	linker := "CARGO_TARGET_" + strings.ToUpper(strings.ReplaceAll(target, "-", "_")) + "_LINKER=" + linkers[len(linkers)-1]
	return &rust{cargo: cargo, version: "Debian's " + version, target: target, variables: []string{"PATH=/usr/bin:/bin", "RUSTC=" + compiler, linker}, debian: true}, true
}

// wasiLibc is where Debian has the libc that rustup's target brings along, and what starts a module with it.
const wasiLibc = "/usr/lib/wasm32-wasi"

// complete adds the variables that let cargo find the standard library, which it builds first if it was not built on this machine. The
// library holds what link-time optimization reads, and no code, which halves the time; so all crates are optimised that way.
func (r *rust) complete(ctx context.Context, messages io.Writer) error {
	library, err := r.library(ctx, messages)
	if err != nil {
		return err
	}
	flags := []string{"--sysroot " + library}
	if r.target == wasiTarget {
		flags = append(flags, "-C link-self-contained=no -L native="+wasiLibc+" -C link-arg="+wasiLibc+"/crt1-reactor.o -C link-arg=--entry=_initialize")
	}
	if own := os.Getenv("RUSTFLAGS"); own != "" {
		flags = append(flags, own)
	}
	r.variables = append(r.variables, "RUSTFLAGS="+strings.Join(flags, " "), "CARGO_PROFILE_RELEASE_LTO=true")
	return nil
}

// library returns the folder of the standard library, as rustc wants it for --sysroot. Cargo builds it, as a feature that the compiler
// allows with RUSTC_BOOTSTRAP only, once for all projects of the user: it takes half a minute. Without its default features, which make
// backtraces: those of the host show the frames of a module.
func (r *rust) library(ctx context.Context, messages io.Writer) (folder string, err error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("the standard library of Rust is kept in a cache: %w", err)
	}
	const form = "1" // of the folder
	key := sha256.Sum256([]byte(form + command{name: "/usr/bin/rustc", arguments: []string{"-vV"}}.answer(ctx)))
	folder = filepath.Join(base, "kopf", "rust", fmt.Sprintf("%s-%x", r.target, key[:8]))
	if isFolder(folder) {
		return folder, nil
	}
	announce(messages, "building the standard library of %s for %s, once for all projects: half a minute", r.version, r.target)
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(filepath.Dir(folder), "building-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(work) }()
	if err := r.buildLibrary(ctx, work, messages); err != nil {
		return "", err
	}
	if err := os.Rename(filepath.Join(work, "sysroot"), folder); err != nil && !isFolder(folder) { // which another process may have built meanwhile
		return "", err
	}
	return folder, nil
}

// buildLibrary makes the folder "sysroot" in a folder.
func (r *rust) buildLibrary(ctx context.Context, work string, messages io.Writer) error {
	const manifest = `[package]
name = "nothing"
edition = "2021"
[profile.release]
lto = true
panic = "abort"
[workspace]
`
	libraries := filepath.Join(work, "sysroot", "lib", "rustlib", r.target, "lib")
	for _, folder := range []string{filepath.Join(work, "src"), libraries} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{"Cargo.toml": manifest, "src/lib.rs": ""} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	build := command{
		folder: work, name: r.cargo, variables: append([]string{"RUSTC_BOOTSTRAP=1", "CARGO_TARGET_DIR=target", "RUSTFLAGS="}, r.variables...),
		arguments: []string{"build", "--quiet", "--release", "--target", r.target, "-Zbuild-std=std,panic_abort", "-Zbuild-std-features="},
	}
	if err := build.run(ctx, messages); err != nil {
		return err
	}
	built, err := filepath.Glob(filepath.Join(work, "target", r.target, "release", "deps", "*.rlib"))
	if err != nil {
		return err
	}
	for _, path := range built {
		if name := filepath.Base(path); !strings.HasPrefix(name, "libnothing-") {
			if err := os.Rename(path, filepath.Join(libraries, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// DebianRust returns the variables of the environment with which cargo builds modules by Debian's Rust, and builds the standard library
// of the target first if that is necessary. What is being built is written to the messages.
func DebianRust(ctx context.Context, target string, messages io.Writer) (variables []string, err error) {
	tools, ok := findDebian(ctx, target)
	if !ok {
		return nil, &MissingError{What: "Debian's Rust for WebAssembly", Get: []string{"apt-get install rustc-web cargo-web rust-web-src lld-19 wasi-libc"}}
	}
	err = tools.complete(ctx, messages)
	return tools.variables, err
}

package toolchains

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
)

// standardHeader matches an include of the standard library, such as <string.h>. Headers of the
// compiler itself need no library.
var standardHeader = regexp.MustCompile(`(?m)^\s*#\s*include\s*<([a-z_/]+\.h)>`)

// compilerHeaders come with clang.
var compilerHeaders = map[string]bool{"stddef.h": true, "stdint.h": true, "stdbool.h": true, "stdarg.h": true, "limits.h": true, "float.h": true}

// libc is where distributions and the WASI SDK have the libc of WASI.
var libc = []string{"/opt/wasi-sdk/share/wasi-sysroot", "/usr"}

// buildC compiles all files of the folder into one module, with the libc of WASI if one of them
// includes a header of it.
func (p *Project) buildC(ctx context.Context, output string, messages io.Writer) error {
	tool, linker, err := findClang(ctx)
	if err != nil {
		return err
	}
	sources := p.files(".c")
	arguments := []string{"--target=wasm32", "-nostdlib", "-fno-builtin"}
	standard, err := includesStandard(append(sources, p.files(".h")...))
	if err != nil {
		return err
	}
	if standard {
		root, ok := findLibc()
		if !ok {
			return &MissingError{What: "the libc of WASI", Get: []string{"sudo apt-get install -y wasi-libc libclang-rt-19-dev-wasm32 (Debian)", "https://github.com/WebAssembly/wasi-sdk"}}
		}
		arguments = []string{"--target=wasm32-wasi", "--sysroot=" + root, "-mexec-model=reactor"}
	}
	arguments = append(arguments, "-O2", "-Wall", "-Wextra", "-Wno-unused-function", "-fuse-ld="+linker, "-Wl,--no-entry", "-o", output)
	return command{folder: p.Folder, name: tool.Path, arguments: append(arguments, sources...)}.run(ctx, messages)
}

func includesStandard(paths []string) (bool, error) {
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return false, err
		}
		for _, match := range standardHeader.FindAllSubmatch(text, -1) {
			if !compilerHeaders[string(match[1])] {
				return true, nil
			}
		}
	}
	return false, nil
}

func findLibc() (root string, ok bool) {
	for _, root := range libc {
		if _, err := os.Stat(filepath.Join(root, "lib", "wasm32-wasi", "libc.a")); !errors.Is(err, os.ErrNotExist) {
			return root, true
		}
	}
	return "", false
}

// findClang finds a compiler with its linker: those without a version first, then the newest.
func findClang(ctx context.Context) (tool Tool, linker string, err error) {
	for _, version := range []string{"", "-22", "-21", "-20", "-19", "-18", "-17", "-16", "-15", "-14"} {
		compiler, ok := lookup("clang" + version)
		linker, hasLinker := lookup("wasm-ld" + version)
		if ok && hasLinker {
			return Tool{Path: compiler, Version: firstLine(command{name: compiler, arguments: []string{"--version"}}.answer(ctx))}, linker, nil
		}
	}
	return Tool{}, "", &MissingError{What: "clang with wasm-ld", Get: []string{"sudo apt-get install -y clang-19 lld-19 (Debian)", "https://github.com/llvm/llvm-project/releases"}}
}

package toolchains

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// oldestGo is the oldest minor version of Go 1 that can export functions of modules.
const oldestGo = 24

// buildGo builds a reactor: a module whose functions are called. The names of functions remain
// in it, so that traps show them.
func (p *Project) buildGo(ctx context.Context, output string, messages io.Writer) error {
	tool, err := findGo(ctx, p.Folder)
	if err != nil {
		return err
	}
	if !p.has("go.sum") {
		announce(messages, "go.sum is missing: go mod tidy")
		if err := (command{folder: p.Folder, name: tool.Path, arguments: []string{"mod", "tidy"}}).run(ctx, messages); err != nil {
			return err
		}
	}
	return command{
		folder: p.Folder, name: tool.Path, arguments: []string{"build", "-buildmode=c-shared", "-trimpath", "-o", output, "."},
		variables: []string{"GOOS=wasip1", "GOARCH=wasm"},
	}.run(ctx, messages)
}

// findGo finds the version of Go that the module in the folder uses.
func findGo(ctx context.Context, folder string) (Tool, error) {
	missing := &MissingError{What: fmt.Sprintf("Go 1.%d or later", oldestGo), Get: []string{"https://go.dev/dl/", "sudo apt-get install -y golang (Debian 13 or later)"}}
	path, ok := lookup("go")
	if !ok {
		return Tool{}, missing
	}
	version := command{folder: folder, name: path, arguments: []string{"env", "GOVERSION"}}.answer(ctx)
	if minor, ok := minorOfGo(version); ok && minor < oldestGo {
		missing.What += fmt.Sprintf(" (%s is %s)", path, version)
		return Tool{}, missing
	}
	return Tool{Path: path, Version: version}, nil
}

// minorOfGo is 26 for go1.26.8.
func minorOfGo(version string) (minor int, ok bool) {
	rest, ok := strings.CutPrefix(version, "go1.")
	if !ok {
		return 0, false
	}
	digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	minor, err := strconv.Atoi(digits)
	return minor, err == nil
}

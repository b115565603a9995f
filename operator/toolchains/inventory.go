package toolchains

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Tool is a tool that is installed.
type Tool struct {
	Path    string
	Version string // as the tool prints it
}

// Look finds the tools of a language that is compiled, for any folder.
//
// Errors: *MissingError.
func Look(ctx context.Context, language Language) (Tool, error) {
	switch language {
	case Go:
		return findGo(ctx, "")
	case Rust:
		tools, err := findRust(ctx, "", "")
		if err != nil {
			return Tool{}, err
		}
		return Tool{Path: tools.cargo, Version: tools.version + ", " + tools.target}, nil
	case AssemblyScript:
		return findNPM(ctx)
	case C:
		tool, _, err := findClang(ctx)
		return tool, err
	case JavaScript, Python:
	}
	return Tool{}, nil // engines run scripts
}

// lookup finds a program as a shell does.
func lookup(name string) (path string, ok bool) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", false
	}
	path, err = filepath.Abs(path)
	return path, err == nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// copyFile writes a copy of a file.
func copyFile(to, from string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}

//go:build unix

package packages

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// Pipes next to a script, or in a package, are not waited for.
func TestPipesAreNotModules(t *testing.T) {
	root := tree(t, map[string]string{"deep/__init__.py": ""})
	if err := errors.Join(syscall.Mkfifo(filepath.Join(root, "helpers.py"), 0o600), syscall.Mkfifo(filepath.Join(root, "deep", "sub.py"), 0o600)); err != nil {
		t.Fatal(err)
	}
	got, err := Own(root, []byte("import helpers, deep"), 0)
	if err != nil || pathsOf(got) != "script/deep/__init__.py" {
		t.Errorf("%s, %v", pathsOf(got), err)
	}
}

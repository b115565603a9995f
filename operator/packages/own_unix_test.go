//go:build unix

package packages

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
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

// TestPackagesReadNoEndlessFiles: a folder of wheels or of packages can come from others, and what looks like a file in it can be a pipe
// without a writer, or a device.
func TestPackagesReadNoEndlessFiles(t *testing.T) {
	for name, place := range map[string]func(path string) error{
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"device": func(path string) error { return os.Symlink("/dev/zero", path) },
	} {
		t.Run(name, func(t *testing.T) {
			wheels, folder := t.TempDir(), tree(t, map[string]string{"top/part.so": "", "top/__init__.py": "", "one-1.0.dist-info/METADATA": ""})
			if err := errors.Join(place(filepath.Join(wheels, "one-1.0-py3-none-any.whl")), place(filepath.Join(folder, "one-1.0.dist-info", "RECORD"))); err != nil {
				t.Fatal(err)
			}
			if err := newCollection(1<<20).addPath(wheels, true); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
				t.Errorf("a wheel: %v", err)
			}
			c := newCollection(1 << 20)
			if err := c.addPath(folder, true); err != nil || len(c.natives["top"]) != 1 {
				t.Errorf("a list of installed files: %v, native files %v", err, c.natives)
			}
		})
	}
}

func TestLinkToAFolderOfPackages(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(tree(t, map[string]string{"one.py": ""}), link); err != nil {
		t.Fatal(err)
	}
	c := newCollection(1 << 20)
	if err := c.addPath(link, true); err != nil || pathsOf(c.files) != "one.py" {
		t.Errorf("%s, %v", pathsOf(c.files), err)
	}
}

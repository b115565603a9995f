//go:build unix

package folder_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kopf-wasm/kopf/hosting/folder"
)

// TestPipesAndDevicesAreNoManifests: the host does not wait for them, with all declarations of the directory.
func TestPipesAndDevicesAreNoManifests(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"a pipe":             func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a link to a device": func(path string) error { return os.Symlink("/dev/zero", path) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "a.yaml", manifest("a", artifact))
			link := filepath.Join(dir, "b.yaml")
			pipe := filepath.Join(t.TempDir(), "pipe")
			if err := errors.Join(make(pipe), os.Symlink(pipe, link)); err != nil {
				t.Fatal(err)
			}
			if found, err := folder.Read(dir); err == nil || !strings.Contains(err.Error(), "b.yaml") || !strings.Contains(err.Error(), "not a regular file") {
				t.Errorf("%v, error %v", found, err)
			}
		})
	}
}

//go:build unix

package boundedfile_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kopf-wasm/kopf/internal/bounded"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
)

// TestDevicesHaveNoEnd: what a person names is read up to the limit, and what a file names is not opened.
func TestDevicesHaveNoEnd(t *testing.T) {
	if _, err := boundedfile.Read("/dev/zero", 1<<20); !errors.Is(err, bounded.ErrTooMuch) {
		t.Errorf("error %v", err)
	}
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink("/dev/zero", link)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir) // names of sockets are short
	socket, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for _, path := range []string{"/dev/zero", "/dev/null", pipe, link, "socket"} {
		if _, err := boundedfile.ReadNamed(path, 1<<20); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
			t.Errorf("%s: error %v", path, err)
		}
	}
	if err := boundedfile.CheckNamed(filepath.Join(dir, "absent")); err != nil {
		t.Error(err)
	}
}

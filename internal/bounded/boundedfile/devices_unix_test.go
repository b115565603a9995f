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
	"time"

	"github.com/kopf-wasm/kopf/internal/bounded"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
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

// TestDevicesTakeLittleMoreThanTheLimit: a buffer that grows would take four times as much.
func TestDevicesTakeLittleMoreThanTheLimit(t *testing.T) {
	const limit = 64 << 20
	var err error
	taken := boundedtest.Allocated(func() { _, err = boundedfile.Read("/dev/zero", limit) })
	if !errors.Is(err, bounded.ErrTooMuch) {
		t.Errorf("error %v", err)
	}
	if taken > limit*5/4 {
		t.Errorf("%d MiB were taken to refuse %d", taken>>20, limit>>20)
	}
}

// TestPipesAreNotWaitedFor: one that somebody writes to is read to its end, however late the text comes.
func TestPipesAreNotWaitedFor(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := boundedfile.Read(pipe, 1<<20); err == nil || !strings.Contains(err.Error(), "no program writes to this pipe") {
		t.Errorf("error %v", err)
	}
	writer, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		time.Sleep(10 * time.Millisecond)
		_, _ = writer.WriteString("text") // it is read below
		_ = writer.Close()
	}()
	if text, err := boundedfile.Read(pipe, 1<<20); string(text) != "text" || err != nil {
		t.Errorf("%q, error %v", text, err)
	}
}

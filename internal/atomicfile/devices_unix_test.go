//go:build unix

package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kopf-wasm/kopf/internal/atomicfile"
)

// TestOutputKeepsPipesAndDevices: /dev/null stays a device, also for root. A pipe gets the content.
func TestOutputKeepsPipesAndDevices(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink("pipe", link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, link} {
		reader, err := os.OpenFile(pipe, os.O_RDWR, 0) // which does not wait for a writer
		if err != nil {
			t.Fatal(err)
		}
		if err := atomicfile.Output(path, 0o600, []byte("con"), []byte("tent")); err != nil {
			t.Error(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
			t.Fatalf("%s has the mode %v (%v), want a pipe", path, info.Mode(), err)
		}
		got := make([]byte, 8)
		if n, err := reader.Read(got); string(got[:n]) != "content" {
			t.Errorf("the pipe has %q (%v)", got[:n], err)
		}
		_ = reader.Close()
	}
}

// TestOutputWritesWhatALinkNames: the link stays.
func TestOutputWritesWhatALinkNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Output(link, 0o600, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "new" {
		t.Errorf("the file has %q (%v)", got, err)
	}
	if _, err := os.Readlink(link); err != nil {
		t.Error(err)
	}
}

// TestErrorsOfReplaceNameTheFile: not the temporary one.
func TestErrorsOfReplaceNameTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for path, says := range map[string]string{dir: dir + ": is a directory", filepath.Join(dir, "absent", "file"): "file: no such file or directory"} {
		if err := atomicfile.Output(path, 0o600, nil); err == nil || !strings.HasSuffix(err.Error(), says) || strings.Contains(err.Error(), atomicfile.Unfinished) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
}

// TestReplaceReplacesLinks: a cache never writes into the file that a link in it names.
func TestReplaceReplacesLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link, other := filepath.Join(dir, "link"), filepath.Join(dir, "other")
	if err := errors.Join(os.WriteFile(other, []byte("other"), 0o600), os.Symlink("other", link), atomicfile.Replace(link, 0o600, []byte("new"))); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(other); err != nil || string(text) != "other" {
		t.Errorf("the other file has %q (%v)", text, err)
	}
}

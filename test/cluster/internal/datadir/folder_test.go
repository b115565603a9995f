package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func open(t *testing.T) *Folder {
	t.Helper()
	folder, err := Open(filepath.Join(t.TempDir(), "new", "folder"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folder.Close() })
	return folder
}

func TestOpenRefusesFolderInUse(t *testing.T) {
	first := open(t)
	_, err := Open(first.path)
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), first.path) {
		t.Fatalf("second Open: got %v, want ErrInUse with the path", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := Open(first.path)
	if err != nil {
		t.Fatalf("Open after Close: %v", err)
	}
	second.Close()
}

func TestOpenIsPrivate(t *testing.T) {
	info, err := os.Stat(open(t).path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o700 {
		t.Errorf("mode of the folder: got %o, want 700", got)
	}
}

func TestRemove(t *testing.T) {
	folder := open(t)
	if err := folder.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder.path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("folder after Remove: got %v, want ErrNotExist", err)
	}
}

func TestPort(t *testing.T) {
	folder := open(t)
	if got := folder.Port(); got != 0 {
		t.Errorf("port of a new folder: got %d, want 0", got)
	}
	if err := folder.SetPort(18443); err != nil {
		t.Fatal(err)
	}
	if got := folder.Port(); got != 18443 {
		t.Errorf("port: got %d, want 18443", got)
	}
	if err := os.WriteFile(folder.Path("port"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := folder.Port(); got != 0 {
		t.Errorf("damaged port: got %d, want 0", got)
	}
}

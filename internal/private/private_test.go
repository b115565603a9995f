package private_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/internal/private"
)

func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	if err := private.Folder(dir); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for mode, good := range map[os.FileMode]bool{0o755: true, 0o770: false, 0o702: false} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if err := private.Folder(dir); (err == nil) != good || !good && (!errors.Is(err, private.ErrShared) || !strings.Contains(err.Error(), dir)) {
			t.Errorf("%v: error %v", mode, err)
		}
	}
	if os.Geteuid() == 0 {
		if err := errors.Join(os.Chmod(dir, 0o700), os.Chown(dir, 12345, 12345)); err != nil {
			t.Fatal(err)
		}
		if err := private.Folder(dir); !errors.Is(err, private.ErrShared) {
			t.Errorf("of another user: error %v", err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := private.Folder(file); err == nil {
		t.Error("a file is taken for a folder")
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if got, err := private.ReadFile(path); err != nil || string(got) != "content" {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []string{link, dir} {
		if _, err := private.ReadFile(bad); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
			t.Errorf("%s: error %v", bad, err)
		}
	}
	if _, err := private.ReadFile(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if err := os.Chmod(path, 0o620); err != nil {
		t.Fatal(err)
	}
	if _, err := private.ReadFile(path); !errors.Is(err, private.ErrShared) {
		t.Errorf("error %v", err)
	}
}

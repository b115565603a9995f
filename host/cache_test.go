package host

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// TestBrokenCache: whatever a broken disk makes of the files of the cache, wherever the bit is,
// the module is compiled again, and runs. Machine code that is not what it was would end the process.
func TestBrokenCache(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(what string) {
		t.Helper()
		m, err := Load(context.Background(), "op.wasm", asm.Guest(nil).Encode(), Options{CacheDir: dir})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if got := result(t, m, "", &testEnv{}); got != "1" {
			t.Errorf("%s: result %s", what, got)
		}
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	run("empty")
	for name, content := range filesIn(t, dir) {
		for at := 0; at < len(content); at += max(1, len(content)/40) {
			broken := append([]byte{}, content...)
			broken[at] ^= 1 << (at % 8)
			if err := os.WriteFile(name, broken, 0o600); err != nil {
				t.Fatal(err)
			}
			run(filepath.Base(name) + " with a flipped bit")
		}
		for what, change := range map[string]func() error{
			"missing":  func() error { return os.Remove(name) },
			"cut":      func() error { return os.Truncate(name, 20) },
			"dangling": func() error { return os.Symlink(filepath.Join(dir, "nothing"), name) },
		} {
			if what == "dangling" {
				if err := os.Remove(name); err != nil {
					t.Fatal(err)
				}
			}
			if err := change(); err != nil {
				t.Fatal(err)
			}
			run(filepath.Base(name) + " is " + what)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "compiling-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// filesIn reads all files below a folder.
func filesIn(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files[path], err = os.ReadFile(path)
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	return files
}

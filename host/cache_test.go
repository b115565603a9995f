package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/host/cache"
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

// The cache does not grow with the modules that others choose: files that were not used for longest go first, and their
// modules are compiled again.
func TestCacheIsBounded(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	load := func(n int) {
		t.Helper()
		m, err := Load(t.Context(), "op.wasm", asm.Guest(nil, asm.Func{Export: fmt.Sprint("extra", n)}).Encode(), Options{CacheDir: dir})
		if err == nil {
			err = m.Close(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	bytes := func() (size int64) {
		for _, content := range filesIn(t, dir) {
			size += int64(len(content))
		}
		return size
	}
	load(1)
	limit, first := bytes(), filesIn(t, dir)
	for path := range first {
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	load(2)
	second := bytes() - limit
	load(1) // from the cache: it is now used
	for path := range filesIn(t, dir) {
		if _, ok := first[path]; !ok {
			if err := os.Chtimes(path, time.Time{}, time.Now().Add(-time.Minute)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cache.Prune(dir, limit+second/2, cache.MaxFiles); err != nil {
		t.Fatal(err)
	}
	if size := bytes(); size > limit+second/2 {
		t.Errorf("%d bytes are left, of at most %d", size, limit+second/2)
	}
	left := filesIn(t, dir)
	for path := range first {
		if _, ok := left[path]; !ok && filepath.Base(path) != "pace" {
			t.Errorf("%s is gone, and was used last", path)
		}
	}
	load(2)
	if err := cache.Prune(filepath.Join(dir, "absent"), 0, 0); err != nil {
		t.Error(err)
	}
}

// Each compilation keeps the bound.
func TestCompilingForgetsOldFiles(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old.prepared")
	err := errors.Join(os.Chmod(dir, 0o700), os.WriteFile(old, nil, 0o600), os.Truncate(old, cache.Limit(dir)), os.Chtimes(old, time.Time{}, time.Now().Add(-time.Hour)))
	if err != nil {
		t.Skip(err) // no sparse files
	}
	m, err := Load(t.Context(), "op.wasm", asm.Guest(nil).Encode(), Options{CacheDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close(t.Context())
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old file is still there: %v", err)
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

package cache

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// TestCacheOfASmallVolume: on a volume of less than the bound, the files filled it, and then no module could be compiled any more.
func TestCacheOfASmallVolume(t *testing.T) {
	for volume, want := range map[int64]int64{0: maxCache, 1 << 30: 512 << 20, 8 << 30: maxCache, 1 << 40: maxCache, -1: maxCache} {
		if got := boundOf(volume); got != want {
			t.Errorf("%d of %d bytes, want %d", got, volume, want)
		}
	}
	if size := volumeOf(t.TempDir()); runtime.GOOS == "linux" && size < 1<<20 {
		t.Errorf("the volume of temporary files has %d bytes", size)
	}
}

// TestFilesOfTheCacheAreFew: each compilation looks at all files, however small they are.
func TestFilesOfTheCacheAreFew(t *testing.T) {
	dir := t.TempDir()
	for i := range 5 {
		file := filepath.Join(dir, fmt.Sprint(i, preparedSuffix))
		if err := errors.Join(os.WriteFile(file, []byte("text"), 0o600), os.Chtimes(file, time.Time{}, time.Now().Add(-time.Duration(i)*time.Hour))); err != nil {
			t.Fatal(err)
		}
	}
	if err := Prune(dir, maxCache, 3); err != nil {
		t.Fatal(err)
	}
	for i, kept := range []bool{true, true, true, false, false} {
		if is := exists(filepath.Join(dir, fmt.Sprint(i, preparedSuffix))); is != kept {
			t.Errorf("file %d is kept: %t", i, is)
		}
	}
}

// TestFilesOfOthersStayInTheCache: a program may have chosen a folder for the cache that has its own files, too.
func TestFilesOfOthersStayInTheCache(t *testing.T) {
	dir := t.TempDir()
	own := []string{"letter.txt", "sub/letter.txt", "sub/wazero-x/y", "pace"}
	modules := []string{"a-1.prepared", "wazero-v1/x", "compiling-1/code/wazero-v1/x", "checking-1/copy"}
	for _, name := range append(own, modules...) {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("text"), 0o600), os.Chtimes(file, time.Time{}, time.Now().Add(-time.Hour))); err != nil {
			t.Fatal(err)
		}
	}
	if err := Prune(dir, 0, MaxFiles); err != nil {
		t.Fatal(err)
	}
	for _, name := range own {
		if !exists(filepath.Join(dir, filepath.FromSlash(name))) {
			t.Errorf("%s is gone", name)
		}
	}
	for _, name := range modules {
		if exists(filepath.Join(dir, filepath.FromSlash(name))) {
			t.Errorf("%s is left", name)
		}
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

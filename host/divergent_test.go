package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/host/internal/asm"
	"github.com/kopf-wasm/kopf/host/prepare"
)

// TestDivergentModulesAreRefused: modules that parts of the engine read differently are no guests, whatever
// compiles them. Nothing is left of them that could be loaded later.
func TestDivergentModulesAreRefused(t *testing.T) {
	neighbour := loadSmall(t)
	for name, g := range asm.Divergent() {
		for _, cached := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, cache %t", name, cached), func(t *testing.T) {
				withNeighbour(t, neighbour, func() {
					dir := CacheOff
					if cached {
						dir = privateDir(t)
					}
					_, err := load(t, g.Encode(), Options{CacheDir: dir})
					if !errors.Is(err, ErrModule) || !strings.Contains(err.Error(), "0x63") && !strings.Contains(err.Error(), "over-long") {
						t.Errorf("error = %v", err)
					}
					if files, _ := os.ReadDir(dir); len(files) > 0 {
						t.Errorf("the cache has %v", files)
					}
				})
			})
		}
	}
}

// privateDir is a temporary folder that may hold a cache.
func privateDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestOldCachesAreRebuilt shows that the cache of an older version is not used, even if its checksums are right: that
// version accepted modules that this one refuses.
func TestOldCachesAreRebuilt(t *testing.T) {
	dir := privateDir(t)
	wasm := asm.Guest(nil).Encode()
	if _, err := load(t, wasm, Options{CacheDir: dir}); err != nil {
		t.Fatal(err)
	}
	file := savedFile(t, dir)
	current, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	source, err := prepare.Parse(wasm)
	if err != nil {
		t.Fatal(err)
	}
	m := bare(t, wasm)
	if !restores(t, m, dir, source) {
		t.Fatal("the cache is not used at all")
	}
	if err := os.WriteFile(file, savedBy(t, current, "kopf prepared module 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if restores(t, m, dir, source) {
		t.Error("what version 7 saved is used")
	}
	if _, err := load(t, wasm, Options{CacheDir: dir}); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(file); err != nil || string(again) != string(current) {
		t.Errorf("the file was not replaced: %v", err)
	}
}

// savedFile is the only prepared module of a cache.
func savedFile(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.prepared"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, error %v", files, err)
	}
	return files[0]
}

// restores tells whether the module is taken from the cache.
func restores(t *testing.T, m *Module, dir string, source *prepare.Source) bool {
	t.Helper()
	file := savedFile(t, dir)
	sum, _, _ := strings.Cut(filepath.Base(file), "-")
	return m.restore(dir, file, "sha256:"+sum, source, prepare.Limits{MemoryPages: uint32(Options{}.withDefaults().MaxMemory / wasmPage)})
}

// savedBy rewrites a file of the cache as if another version had saved it, with sums that are right.
// The sum that follows covers the content, not the version.
func savedBy(t *testing.T, file []byte, version string) []byte {
	t.Helper()
	begin := strings.Index(string(file), "kopf prepared module ")
	if begin < 0 {
		t.Fatal("no version in the file")
	}
	end := begin + strings.IndexByte(string(file[begin:]), '\n') + 1
	return []byte(string(file[:begin]) + version + string(file[end:]))
}

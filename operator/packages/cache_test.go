package packages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// aged writes files of the cache with their ages and sizes.
func aged(t *testing.T, dir string, ages map[string]time.Duration, size int) {
	t.Helper()
	for name, age := range ages {
		path := filepath.Join(dir, name)
		used := time.Now().Add(-age)
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, used, used); err != nil {
			t.Fatal(err)
		}
	}
}

// namesIn lists a folder.
func namesIn(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return strings.Join(names, " ")
}

// Entries that are old, unfinished or beyond the size go, those that were not used for longest
// first. The newest one stays, however large.
func TestCacheIsPruned(t *testing.T) {
	const day = 24 * time.Hour
	for name, tt := range map[string]struct {
		ages  map[string]time.Duration // of entries of 100 bytes
		limit int64
		want  string
	}{
		"old":        {map[string]time.Duration{"new": 0, "kept": 29 * day, "old": 31 * day}, 1000, "kept new"},
		"unfinished": {map[string]time.Duration{"new": 0, "a.temp": time.Minute, "b.temp": 2 * time.Hour}, 1000, "a.temp new"},
		"many":       {map[string]time.Duration{"new": 0, "a": 3 * time.Hour, "b": time.Hour, "c": 2 * time.Hour}, 250, "b new"},
		"large":      {map[string]time.Duration{"new": 0, "a": time.Hour}, 50, "new"},
		"alone":      {map[string]time.Duration{"new": 0}, 50, "new"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			aged(t, dir, tt.ages, 100)
			if err := prune(dir, "new", tt.limit); err != nil {
				t.Fatal(err)
			}
			if got := namesIn(t, dir); got != tt.want {
				t.Errorf("the cache has %s, want %s", got, tt.want)
			}
		})
	}
}

// An entry that is used stays, and an entry that is added makes old ones go.
func TestUsedEntriesOfTheCacheStay(t *testing.T) {
	dir := t.TempDir()
	pack := func() (map[string][]byte, error) { return map[string][]byte{"a": []byte("1")}, nil }
	use := func(key string) {
		t.Helper()
		if _, err := cached(dir, key, pack); err != nil {
			t.Fatal(err)
		}
	}
	use("used")
	use("unused")
	old := time.Now().Add(-2 * maxAge)
	for _, key := range []string{"used", "unused"} {
		if err := os.Chtimes(filepath.Join(dir, key), old, old); err != nil {
			t.Fatal(err)
		}
	}
	use("used")
	use("new")
	if got := namesIn(t, dir); got != "new used" {
		t.Errorf("the cache has %s", got)
	}
}

// TestPackagesWithoutACache: a cache that cannot be written, on a read-only or full disk, makes each start slow, but everything works.
func TestPackagesWithoutACache(t *testing.T) {
	pack := func() (map[string][]byte, error) { return map[string][]byte{"a": []byte("1")}, nil }
	made, err := cached(filepath.Join(t.TempDir(), "absent"), "key", pack)
	if err != nil || string(made["a"]) != "1" {
		t.Errorf("%v, %v", made, err)
	}
}

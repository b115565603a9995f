package atomicfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kopf-wasm/kopf/internal/atomicfile"
)

func TestReplaceWritesAllParts(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	for _, want := range []string{"long before", "new"} {
		if err := atomicfile.Replace(path, 0o600, []byte(want[:2]), []byte(want[2:])); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("the file has %q (%v), want %q", got, err, want)
		}
	}
}

func TestReplaceLeavesNothingAfterAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "file", "inside"), 0o700); err != nil { // which no file can replace
		t.Fatal(err)
	}
	if err := atomicfile.Replace(filepath.Join(dir, "file"), 0o600, nil); err == nil {
		t.Error("a folder was replaced")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v (%v), want only one entry", entries, err)
	}
}

package boundedfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/kopf-wasm/kopf/internal/bounded"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
)

func TestFilesAreReadUpToTheLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, tt := range []struct {
		size int
		good bool
	}{{0, true}, {9, true}, {10, true}, {11, false}, {100_000, false}} {
		if err := os.WriteFile(path, make([]byte, tt.size), 0o600); err != nil {
			t.Fatal(err)
		}
		data, err := boundedfile.ReadNamed(path, 10)
		if (err == nil) != tt.good || err != nil && !errors.Is(err, bounded.ErrTooMuch) || tt.good && len(data) != tt.size {
			t.Errorf("%d bytes: %d bytes, error %v", tt.size, len(data), err)
		}
	}
	if _, err := boundedfile.Read(path+"x", 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: error %v", err)
	}
	if _, err := boundedfile.ReadNamed(t.TempDir(), 10); err == nil {
		t.Error("a folder was read")
	}
}

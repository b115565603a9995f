package host

import (
	"errors"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/host/files"
	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// withFiles is a guest that carries files.
func withFiles(t *testing.T, content map[string][]byte) []byte {
	t.Helper()
	wasm, err := files.Embed(asm.Guest(nil).Encode(), content)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// Operators whose modules carry equal files have them in memory once.
func TestModulesShareFiles(t *testing.T) {
	wasm := withFiles(t, map[string][]byte{"packages/a.pyc": []byte("content")})
	one, two := loaded(t, "one", wasm, Options{}), loaded(t, "two", append([]byte{}, wasm...), Options{})
	if one.Files() == nil || one.Files() != two.Files() {
		t.Errorf("%p and %p", one.Files(), two.Files())
	}
	if other := loaded(t, "other", withFiles(t, map[string][]byte{"a": nil}), Options{}); other.Files() == one.Files() {
		t.Error("other files are shared, too")
	}
}

func TestFilesAreLimited(t *testing.T) {
	_, err := load(t, withFiles(t, map[string][]byte{"a": make([]byte, 100)}), Options{MaxFiles: 100})
	if !errors.Is(err, ErrModule) || !strings.Contains(err.Error(), "its files have 109 bytes: the limit MaxFiles is 100") {
		t.Error(err)
	}
}

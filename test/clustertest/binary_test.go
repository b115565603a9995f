package clustertest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFindBinary(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "test", "cluster", "inner")
	mkdir(t, deep)
	t.Setenv(binaryVar, "")
	t.Chdir(deep)

	if _, err := findBinary(); err == nil || !strings.Contains(err.Error(), binaryVar) {
		t.Errorf("outside of the project: got %v, want the name of the variable", err)
	}

	writeFile(t, filepath.Join(root, "go.mod"), rootModule+"\ngo 1.26.0\n")
	writeFile(t, filepath.Join(root, "test", "cluster", "go.mod"), "module github.com/kopf-wasm/kopf/test/cluster\n")
	if _, err := findBinary(); !errors.Is(err, errNoBinary) || !strings.Contains(err.Error(), "make devcluster") {
		t.Errorf("not built: got %v, want the command that builds it", err)
	}

	want := filepath.Join(root, ".cache", "bin", "devcluster")
	mkdir(t, filepath.Dir(want))
	writeFile(t, want, "")
	got, err := findBinary()
	if err != nil {
		t.Fatal(err)
	}
	if resolve(t, got) != resolve(t, want) {
		t.Errorf("built: got %q, want %q", got, want)
	}

	t.Setenv(binaryVar, filepath.Join(root, "go.mod"))
	if got, err := findBinary(); err != nil || got != filepath.Join(root, "go.mod") {
		t.Errorf("by the variable: got %q, %v", got, err)
	}
	t.Setenv(binaryVar, filepath.Join(root, "nothing"))
	if _, err := findBinary(); err == nil || errors.Is(err, errNoBinary) {
		t.Errorf("wrong variable: got %v, want an error of its own", err)
	}
}

func TestInCI(t *testing.T) {
	for value, want := range map[string]bool{"": false, "0": false, "false": false, "1": true, "true": true} {
		t.Setenv(ciVar, value)
		if got := inCI(); got != want {
			t.Errorf("%s=%q: got %t, want %t", ciVar, value, got, want)
		}
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func resolve(t *testing.T, path string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

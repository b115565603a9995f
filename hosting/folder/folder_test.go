package folder_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/hosting"
	"github.com/kopf-wasm/kopf/hosting/folder"
)

// manifest declares an operator.
func manifest(name, module string) string {
	return "apiVersion: hosting.kopf.dev/v1alpha1\nkind: WasmOperator\nmetadata: {name: " + name + ", namespace: ns}\nspec: {module: '" + module + "', serviceAccountName: sa}\n"
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const artifact = "oci://ghcr.io/me/op:v1"

// TestFoldersAreRead: all documents of YAML and JSON, and nothing else.
func TestFoldersAreRead(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "op.wasm", "\x00asm")
	write(t, dir, "a.yaml", "# The licence.\n\n---\n"+manifest("a", artifact)+"---\n---\n"+manifest("b", "op.wasm")+"--- \r\n  # nothing\r\n")
	write(t, dir, "c.json", `{"apiVersion": "hosting.kopf.dev/v1alpha1", "kind": "ClusterWasmOperator", "metadata": {"name": "c"}, "spec": {"module": "oci://ghcr.io/me/op:v1", "serviceAccountName": "sa", "serviceAccountNamespace": "ns"}}`)
	write(t, dir, ".hidden.yaml", "nonsense")
	write(t, dir, "README.md", "nonsense")
	found, err := folder.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range found {
		names = append(names, d.Key.String()+" as "+d.Account().String())
	}
	want := []string{"WasmOperator ns/a as system:serviceaccount:ns:sa", "WasmOperator ns/b as system:serviceaccount:ns:sa", "ClusterWasmOperator c as system:serviceaccount:ns:sa"}
	if !slices.Equal(names, want) {
		t.Errorf("got %q", names)
	}
}

func TestBadFoldersAreRefused(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		says  []string
	}{
		{"the same name twice", map[string]string{"a.yaml": manifest("x", artifact), "b.yaml": manifest("x", artifact)}, []string{"WasmOperator ns/x is declared twice", "a.yaml", "b.yaml"}},
		{"an unknown field", map[string]string{"a.yaml": manifest("a", artifact) + "  modul: x"}, []string{"a.yaml, document 1: "}},
		{"the second document", map[string]string{"a.yaml": manifest("a", artifact) + "---\n{kind: Pod}"}, []string{"a.yaml, document 2: ", "kind: \"Pod\": want WasmOperator or ClusterWasmOperator"}},
		{"a file outside", map[string]string{"a.yaml": manifest("a", "../op.wasm")}, []string{"a.yaml", `spec.module: "../op.wasm": want a file of this folder`}},
		{"an absolute path", map[string]string{"a.yaml": manifest("a", "/etc/passwd")}, []string{`spec.module: "/etc/passwd"`}},
		{"a missing file", map[string]string{"a.yaml": manifest("a", "op.wasm")}, []string{"spec.module: ", "op.wasm", "no such file", "want a file of this folder, or a reference like oci:"}},
		{"a folder as a module", map[string]string{"a.yaml": manifest("a", ".")}, []string{`spec.module: "." is a folder: name a module or a script in it`}},
		{"two broken files", map[string]string{"a.yaml": "x: [", "b.yaml": "- x"}, []string{"a.yaml", "b.yaml"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range tt.files {
				write(t, dir, name, text)
			}
			_, err := folder.Read(dir)
			for _, text := range tt.says {
				if err == nil || !strings.Contains(err.Error(), text) {
					t.Errorf("got %v, want %q", err, text)
				}
			}
		})
	}
	if _, err := folder.Read(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an absent folder: %v", err)
	}
}

// sink keeps what is declared.
type sink struct {
	mu      sync.Mutex // guards present
	present map[string]int64
}

func (s *sink) Declare(d hosting.Declaration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.present[d.Key.Name] = d.Generation
}

func (s *sink) Remove(key hosting.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.present, key.Name)
}

func (s *sink) all() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.present)
}

// TestEmptyFoldersAreNoted: a folder with a module only does nothing, and the log says why.
func TestEmptyFoldersAreNoted(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "op.py", "import kopf")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var log strings.Builder
	if err := folder.New(dir, zerolog.New(&log)).Run(ctx, &sink{present: map[string]int64{}}); err != nil || !strings.Contains(log.String(), "The folder declares no operators") {
		t.Errorf("error %v, log %s", err, &log)
	}
}

// TestChangesAreFollowed: added, changed and removed files, and changed modules. While a file
// is broken, what was declared before stays.
func TestChangesAreFollowed(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "op.wasm", "\x00asm")
	write(t, dir, "a.yaml", manifest("a", "op.wasm"))
	s := &sink{present: map[string]int64{}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- folder.New(dir, zerolog.Nop()).Run(ctx, s) }() // Waited for below.
	until := func(what string, condition func(map[string]int64) bool) map[string]int64 {
		t.Helper()
		for began := time.Now(); !condition(s.all()); time.Sleep(10 * time.Millisecond) {
			if time.Since(began) > time.Minute {
				t.Fatalf("%s: %v", what, s.all())
			}
		}
		return s.all()
	}
	first := until("the first look", func(now map[string]int64) bool { return len(now) == 1 })
	write(t, dir, "b.yaml", manifest("b", artifact))
	until("a file is added", func(now map[string]int64) bool { return len(now) == 2 })
	write(t, dir, "op.wasm", "\x00asm, another one")
	second := until("a module is changed", func(now map[string]int64) bool { return now["a"] != first["a"] })
	write(t, dir, "a.yaml", manifest("a", artifact))
	until("a file is changed", func(now map[string]int64) bool { return now["a"] != second["a"] })
	write(t, dir, "c.yaml", "nonsense: [")
	write(t, dir, "b.yaml", manifest("b", "oci://ghcr.io/me/op:v2"))
	write(t, dir, "c.yaml", manifest("c", artifact))
	until("the broken file is whole", func(now map[string]int64) bool { return len(now) == 3 })
	if err := os.Remove(filepath.Join(dir, "b.yaml")); err != nil {
		t.Fatal(err)
	}
	until("a file is removed", func(now map[string]int64) bool { return len(now) == 2 && now["b"] == 0 })
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

//go:build interop

package tinygo_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// kopf is the program of `make build`.
const kopf = "../../bin/kopf"

// TestExamplesRegister builds all examples in Go, and asks them for their registrations.
func TestExamplesRegister(t *testing.T) {
	examples, err := filepath.Glob("../../examples/*/main.go")
	if err != nil || len(examples) == 0 {
		t.Fatalf("examples %v, error %v", examples, err)
	}
	for _, example := range examples {
		folder := filepath.Dir(example)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			module := filepath.Join(t.TempDir(), "operator.wasm")
			if err := os.WriteFile(module, build(t, folder), 0o600); err != nil {
				t.Fatal(err)
			}
			if text, err := exec.CommandContext(t.Context(), kopf, "inspect", module).CombinedOutput(); err != nil {
				t.Errorf("kopf inspect: %v\n%s", err, text)
			}
		})
	}
}

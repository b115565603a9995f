package hostile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/kopf-wasm/kopf/test/sources"
)

// Folders, as seen from this one.
const (
	repository = "../.."
	outDir     = "../../.cache/test/hostile" // `make clean` deletes it
)

// program builds the command line, and returns its path.
func program(t *testing.T) string {
	t.Helper()
	sources.WatchCommandLine(t)
	if err := os.MkdirAll(outDir, 0o755); err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs(outDir + "/kopf")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", path, ".")
	cmd.Dir = repository + "/cmd/kopf"
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building kopf: %v\n%s", err, text)
	}
	return path
}

// engine builds the engine of JavaScript, and returns the module.
func engine(t *testing.T) []byte {
	t.Helper()
	sources.WatchRust(t, "engines/javascript")
	out := repository + "/bin/engines/javascript.wasm"
	if text, err := exec.Command(repository+"/scripts/engine.sh", out, repository+"/engines/javascript").CombinedOutput(); err != nil {
		t.Fatalf("building the engine of JavaScript: %v\n%s", err, text)
	}
	wasm, err := os.ReadFile(out)
	if os.IsNotExist(err) && os.Getenv("CI") != "true" {
		t.Skipf("SKIPPED: %s is not built: scripts/engine.sh says what is missing", out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

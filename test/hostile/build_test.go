package hostile_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Folders, as seen from this one.
const (
	repository = "../.."
	outDir     = "../../.cache/test/hostile" // `make clean` deletes it
)

// parts are the folders of what the command line is built of: this test imports few of them itself.
var parts = []string{"abi", "artifacts", "cmd", "host", "hosting", "internal", "operator", "reactor", "stores", "webhooks"}

// program builds the command line, and returns its path.
func program(t *testing.T) string {
	t.Helper()
	for _, part := range parts {
		watch(t, repository+"/"+part)
	}
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
	watch(t, repository+"/engines/javascript", repository+"/guest-sdks/rust", repository+"/scripts")
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

// watch looks at folders of sources that other processes compile: `go test` takes a result from
// its cache unless something has changed that the test itself has looked at.
func watch(t *testing.T, folders ...string) {
	t.Helper()
	for _, folder := range folders {
		if err := filepath.WalkDir(folder, func(_ string, _ fs.DirEntry, err error) error { return err }); err != nil {
			t.Fatal(err)
		}
	}
}

package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/kopf-wasm/kopf/test/sources"
)

// Folders, as seen from this one.
const (
	repository = "../.."
	guestsDir  = "../guests/go"
	outDir     = "../../.cache/test/e2e" // `make clean` deletes it
)

// builds are what this test binary has built so far, each once.
var builds sync.Map // of names to func() (string, error)

// once builds something for the first test that asks, and returns its absolute path.
func once(t *testing.T, name string, build func(out string) *exec.Cmd) string {
	t.Helper()
	run, _ := builds.LoadOrStore(name, sync.OnceValues(func() (string, error) { return runBuild(name, build) }))
	path, err := run.(func() (string, error))()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// runBuild replaces the file at once, as another test run may be using the old one.
func runBuild(name string, build func(out string) *exec.Cmd) (string, error) {
	dir, err := filepath.Abs(outDir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	out := filepath.Join(fresh, name)
	if text, err := build(out).CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", name, err, text)
	}
	path := filepath.Join(dir, name)
	return path, os.Rename(out, path)
}

// guest builds one of test/guests/go, and returns the path of its module.
func guest(t *testing.T, name string) string {
	t.Helper()
	sources.WatchGo(t, "test/guests/go")
	return once(t, name+".wasm", func(out string) *exec.Cmd {
		cmd := exec.Command("go", "build", "-buildvcs=false", "-buildmode=c-shared", "-o", out, "./"+name)
		cmd.Dir = guestsDir
		cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
		return cmd
	})
}

// commandLine builds the program, and returns its path.
func commandLine(t *testing.T) string {
	t.Helper()
	sources.WatchCommandLine(t)
	return once(t, "kopf", func(out string) *exec.Cmd {
		cmd := exec.Command("go", "build", "-buildvcs=false", "-o", out, ".")
		cmd.Dir = repository + "/cmd/kopf"
		cmd.Env = append(os.Environ(), "GOWORK=off")
		return cmd
	})
}

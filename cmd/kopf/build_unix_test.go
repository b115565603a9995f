//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/internal/programtest"
)

// TestAStoppedBuildLeavesNothing: a signal ends the compiler and the build, and the project has no unfinished module.
func TestAStoppedBuildLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	tools := filepath.Join(dir, "tools")
	if err := os.Mkdir(tools, 0o700); err != nil {
		t.Fatal(err)
	}
	programtest.Write(t, filepath.Join(tools, "go"), "[ \"$1\" = build ] || exit 0\ntouch \""+dir+"/compiling\"\nexec sleep 60\n")
	t.Setenv("PATH", tools+":"+os.Getenv("PATH"))
	writeFiles(t, map[string]string{"go.mod": "module op\n", "go.sum": ""})
	ended := make(chan exitCode, 1)
	var stderr string
	go func() { // Waited for below.
		var code exitCode
		code, _, stderr = kopf("build")
		ended <- code
	}()
	for {
		if _, err := os.Stat("compiling"); err == nil {
			break
		}
		select {
		case code := <-ended:
			t.Fatalf("code %d without a signal: %s", code, stderr)
		case <-time.After(time.Millisecond):
		}
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := <-ended; code != exitForced || stderr != "" {
		t.Errorf("code %d, %q", code, stderr)
	}
	if left, _ := filepath.Glob(".new-*"); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

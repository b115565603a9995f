//go:build unix

package host

import (
	"os"
	"syscall"
	"testing"

	"github.com/kopf-wasm/kopf/host/compiler"
	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// TestWarmStart: what is in the cache is not compiled again, here or elsewhere.
func TestWarmStart(t *testing.T) {
	if !compiler.Offered() {
		t.Skip("no limits for processes on this system")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		before := childFaults(t)
		m, err := load(t, asm.Guest(nil).Encode(), Options{CacheDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if started := childFaults(t) > before; started != want {
			t.Errorf("a process was started: %t, want %t", started, want)
		}
		result(t, m, "", &testEnv{})
	}
}

// childFaults grows with each process that this one has waited for.
func childFaults(t *testing.T) int64 {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &usage); err != nil {
		t.Fatal(err)
	}
	return usage.Minflt
}

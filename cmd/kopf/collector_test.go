package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestCollectorIsEarly: package collector is initialised neither among the first packages nor among the
// last ones, where it would have no effect.
func TestCollectorIsEarly(t *testing.T) {
	const path = "github.com/kopf-wasm/kopf/cmd/kopf/internal/collector"
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	trace, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, trace)
	}
	before, after, found := strings.Cut(string(trace), "\ninit "+path+" ")
	first, last := strings.Count(before, "\ninit "), strings.Count(after, "\ninit ")
	if !found || first < 50 || last < 100 {
		t.Errorf("%s: initialised after %d packages and before %d", path, first, last)
	}
}

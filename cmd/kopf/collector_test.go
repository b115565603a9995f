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
	if first, last := initialised(t, "collector"); first < 50 || last < 100 {
		t.Errorf("initialised after %d packages and before %d", first, last)
	}
}

// TestCompilerIsEarly: the process that compiles does not initialise most of the packages of others.
func TestCompilerIsEarly(t *testing.T) {
	if first, last := initialised(t, "compiling"); last < 50 { // without the Sigstore library there are fewer
		t.Errorf("initialised after %d packages and before %d", first, last)
	}
}

// initialised returns how many packages are initialised before an internal package, and how many after it.
func initialised(t *testing.T, name string) (first, last int) {
	t.Helper()
	path := "github.com/kopf-wasm/kopf/cmd/kopf/internal/" + name
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	trace, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, trace)
	}
	before, after, found := strings.Cut(string(trace), "\ninit "+path+" ")
	if !found {
		t.Fatalf("%s is not initialised: %s", path, trace)
	}
	return strings.Count(before, "\ninit "), strings.Count(after, "\ninit ")
}

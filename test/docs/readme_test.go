package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The first screen shows an example that exists, without its package comment, and
// its twin in Rust.
func TestReadmeProgram(t *testing.T) {
	readme := page{"README.md", read(t, "README.md")}
	source := read(t, "examples/01-minimal/main.go")
	want := map[string]string{
		"go":   source[strings.Index(source, "package main\n"):],
		"rust": read(t, "examples/01-minimal/lib.rs"),
	}
	found := map[string]int{}
	for _, b := range readme.blocks() {
		if want[b.lang] == "" {
			continue
		}
		found[b.lang]++
		if diff := cmp.Diff(want[b.lang], b.text); diff != "" {
			t.Errorf("README.md:%d (-examples/01-minimal +README.md):\n%s", b.line, diff)
		}
	}
	if found["go"] != 1 || found["rust"] != 1 {
		t.Errorf("README.md has %v programs, not one in each language", found)
	}
	if lines := strings.Count(readme.text, "\n"); lines > 150 {
		t.Errorf("README.md has %d lines; at most 150", lines)
	}
}

// volatile is what differs from one run of the demo to the next.
var volatile = regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(,\d+|Z)|uid: [0-9a-f-]{36}|resourceVersion: "\d+"`)

// The output that README.md shows is that of the demo.
func TestReadmeOutput(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it starts a cluster")
	}
	for _, path := range []string{".cache/bin/devcluster", ".cache/guests/01-minimal.wasm", "bin/kopf"} {
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			skip(t, path+" is not built: run 'make build devcluster guest-examples'")
		}
	}
	cmd := exec.CommandContext(t.Context(), "scripts/demo.sh")
	cmd.Dir = root
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("scripts/demo.sh: %v\n%s", err, output)
	}
	_, fromOperator, _ := strings.Cut(string(output), "\n--- kopf run")
	want := normal("--- kopf run" + fromOperator)
	for _, b := range (page{text: read(t, "README.md")}).blocks() {
		if strings.HasPrefix(b.text, "--- kopf run") {
			if diff := cmp.Diff(want, normal(b.text)); diff != "" {
				t.Errorf("README.md:%d (-scripts/demo.sh +README.md):\n%s", b.line, diff)
			}
			return
		}
	}
	t.Error("README.md does not show the output of the demo")
}

// normal replaces what differs between runs, and drops lines whose number or place
// does: requests are repeated until the definition of the resource is served, and
// the operator says good-bye while the demo continues.
func normal(output string) string {
	var out strings.Builder
	for line := range strings.Lines(volatile.ReplaceAllString(output, "…")) {
		if strings.Contains(line, "will retry: GET") || strings.Contains(line, "Operator is stopping") {
			continue
		}
		out.WriteString(line)
	}
	return strings.TrimSpace(out.String())
}

// skip skips a test with a message. In CI, where the message would go unnoticed, the test
// fails.
func skip(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}

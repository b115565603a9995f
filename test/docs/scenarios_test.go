package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestScenariosOfTheManual: the scenarios that docs/testing.md shows pass.
func TestScenariosOfTheManual(t *testing.T) {
	t.Parallel()
	const shown = "docs/snippets/testing/operator_test.yaml"
	if !strings.Contains(manual(t, "testing.md").text, "```yaml\n"+read(t, shown)+"```\n") {
		t.Errorf("docs/testing.md does not show %s", shown)
	}
	module := filepath.Join(t.TempDir(), "operator.wasm")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-buildmode=c-shared", "-o", module, "./testing")
	build.Dir = filepath.Join(root, "docs", "snippets")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOWORK=off")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	output, err := exec.CommandContext(t.Context(), buildProgram(t), "test", filepath.Join(root, shown), "--module", module).CombinedOutput()
	if err != nil || !strings.HasSuffix(string(output), "2 passed, 0 failed\n") {
		t.Errorf("%v\n%s", err, output)
	}
}

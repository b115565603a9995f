package kopftest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Build builds the module of the package in the current folder, which is the one of the test,
// and returns its path. The go command must be on the PATH.
func Build(tb testing.TB) string {
	tb.Helper()
	out := filepath.Join(tb.TempDir(), "operator.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-o", out, ".")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("kopftest: %v\n%s", err, text)
	}
	return out
}

// outcome is the end of a scenario, as kopf test prints it.
type outcome struct {
	Name     string   `json:"name"`
	Failed   bool     `json:"failed"`
	Problems []string `json:"problems"`
}

// failedScenarios is the exit code of kopf test if a scenario has failed.
const failedScenarios = 5

// Scenarios runs kopf test with the arguments: files of scenarios, and flags. Each scenario is a
// subtest. It needs no cluster.
//
//	func TestScenarios(t *testing.T) {
//		kopftest.Scenarios(t, "--module", kopftest.Build(t), "operator_test.yaml")
//	}
//
// The program is kopf on the PATH, or that of the variable KOPF.
func Scenarios(t *testing.T, args ...string) {
	t.Helper()
	program := cmp.Or(os.Getenv("KOPF"), "kopf")
	cmd := exec.Command(program, append([]string{"test", "--output", "json"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == failedScenarios:
	case errors.As(err, &exit):
		t.Fatalf("kopftest: %v\n%s", err, stderr.String())
	case err != nil:
		t.Fatalf("kopftest: %v (set KOPF to the path of the program)", err)
	}
	var all []outcome
	if err := json.Unmarshal(output, &all); err != nil {
		t.Fatalf("kopftest: the output of %s test: %v", program, err)
	}
	for _, o := range all {
		t.Run(o.Name, func(t *testing.T) {
			if o.Failed {
				t.Error(strings.Join(o.Problems, "\n"))
			}
		})
	}
}

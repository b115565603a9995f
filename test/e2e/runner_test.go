package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopftest"
)

// noting notes what a test would have failed with, instead of failing.
type noting struct {
	testing.TB
	said     []string
	cleanups []func()
}

func (f *noting) Errorf(format string, _ ...any) { f.said = append(f.said, format) }
func (f *noting) Failed() bool                   { return false }
func (f *noting) Cleanup(do func())              { f.cleanups = append(f.cleanups, do) }

// unreachable is a cluster that does not answer: an operator waits for it.
const unreachable = `{apiVersion: v1, kind: Config, current-context: x, contexts: [{name: x, context: {cluster: x, user: x}}],
clusters: [{name: x, cluster: {server: "https://127.0.0.1:1"}}], users: [{name: x, user: {token: x}}]}`

// TestRunner is how authors test a whole operator: KopfRunner of Kopf. It is about
// the runner, so the operator needs no cluster.
func TestRunner(t *testing.T) {
	t.Setenv("KOPF", commandLine(t))
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, []byte(unreachable), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", config)
	module := example(t, "01-minimal")

	runner := kopftest.Start(t, "run", module, "-n", "default", "--standalone")
	runner.Until(t, "Initial authentication has finished", patience)
	if code := runner.Stop(t); code != 0 || !strings.Contains(runner.Output(), "Operator is stopping") {
		t.Errorf("exit code %d, output %q", code, runner.Output())
	}

	failed := kopftest.Start(t, "run", "missing.wasm", "-A")
	if code := failed.Wait(t, patience); code != 1 || !strings.Contains(failed.Output(), "missing.wasm: no such file") {
		t.Errorf("exit code %d, output %q", code, failed.Output())
	}

	forgetful := &noting{TB: t}
	left := kopftest.Start(forgetful, "run", module, "-n", "default", "--standalone")
	left.Until(t, "Initial authentication has finished", patience)
	for _, do := range forgetful.cleanups {
		do()
	}
	if len(forgetful.said) != 1 || !strings.Contains(forgetful.said[0], "was not stopped") {
		t.Errorf("an operator that is left running fails the test with %q", forgetful.said)
	}
	if code := left.Wait(t, patience); code == 0 {
		t.Error("it was not killed")
	}
}

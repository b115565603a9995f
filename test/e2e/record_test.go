package e2e_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRecord: what an operator has done in a cluster is replayed without it.
func TestRecord(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.create(t, "obj", "{do: temporary, seconds: 1, times: 1}")
	recording := filepath.Join(t.TempDir(), "operator.rec")
	p := s.spawn(t, "--once", "--record", recording)
	if code := p.exits(t); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	output, err := exec.CommandContext(t.Context(), commandLine(t), "replay", recording).CombinedOutput()
	if err != nil || !strings.HasSuffix(string(output), " calls replayed: all as recorded\n") {
		t.Errorf("error = %v, output:\n%s", err, output)
	}
}

package watchdog

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestStuckFirstProcessIsEnded: the kernel does not let the first process of a container abort
// itself, so its exit code is that of Go's runtime.
func TestStuckFirstProcessIsEnded(t *testing.T) {
	t.Parallel() // the runtime takes ten seconds to print all stacks
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), stuck+"=yes")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	if os.Geteuid() != 0 { // others need a namespace of users
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
	}
	output, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 2 {
		t.Fatalf("exit code %d, error = %v\n%s", code, err, output)
	}
	for _, want := range []string{"SIGABRT: abort", "goroutine ", "getStuck"} {
		if !strings.Contains(string(output), want) {
			t.Errorf("no %q in what it said:\n%s", want, output)
		}
	}
}

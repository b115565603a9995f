package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// contained makes a command the first process of a namespace of processes, as in a container.
func contained(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	if os.Geteuid() != 0 { // others need a namespace of users
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
	}
	return cmd
}

// runContained starts `kopf run` with a module in a container, without compiled modules.
func (s space) runContained(t *testing.T, module string, args ...string) *process {
	t.Helper()
	args = append([]string{"run", "--verbose", "-n", s.namespace}, append(args, module)...)
	return s.supervise(t, contained(command(t, []string{"KUBECONFIG=" + s.Kubeconfig(), "XDG_CACHE_HOME=" + t.TempDir()}, args...)))
}

// childProcesses are the states of the children of a process, by their names: Z is a zombie.
func childProcesses(t *testing.T, of int) map[string]string {
	t.Helper()
	found := map[string]string{}
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		name, rest, _ := strings.Cut(string(stat), ") ")
		var state string
		var parent int
		if _, err := fmt.Sscan(rest, &state, &parent); err == nil && parent == of {
			found[name] = state
		}
	}
	return found
}

// TestFirstProcessOfAContainer: signals, whose defaults the kernel ignores there, and the process
// that compiles.
func TestFirstProcessOfAContainer(t *testing.T) {
	t.Parallel()
	t.Run("graceful exit", func(t *testing.T) {
		t.Parallel()
		p := newSpace(t).runContained(t, guest(t, "scripted"))
		p.says(t, "Starting the watch-stream for kopfexamples")
		p.create(t, "obj1", "{}")
		p.handled(t, "obj1")
		if left := childProcesses(t, p.cmd.Process.Pid); len(left) > 0 {
			t.Errorf("children after the compilation: %v", left)
		}
		p.signal(t, syscall.SIGTERM)
		if code := p.exits(t); code != 0 {
			t.Errorf("exit code %d, want 0", code)
		}
	})
	t.Run("forced exit", func(t *testing.T) {
		t.Parallel()
		p := newSpace(t).runContained(t, guest(t, "scripted"), "--config", exitTimeout("600"))
		p.says(t, "Starting the watch-stream for kopfexamples")
		p.create(t, "obj1", "{do: sleep, seconds: 600}")
		p.until(t, "the handler sleeps", func() bool { return len(p.stdout.With(`"create_fn"`)) > 0 })
		p.signal(t, syscall.SIGTERM)
		p.says(t, "Signal SIGTERM is received.")
		p.signal(t, syscall.SIGTERM)
		if code := p.exits(t); code != 130 {
			t.Errorf("exit code %d, want 130", code)
		}
	})
	t.Run("a failed start", func(t *testing.T) {
		t.Parallel()
		p := newSpace(t).runContained(t, filepath.Join(t.TempDir(), "none.wasm"))
		if code := p.exits(t); code != 1 {
			t.Errorf("exit code %d, want 1", code)
		}
	})
	t.Run("while a module is compiled", func(t *testing.T) {
		t.Parallel()
		p := newSpace(t).runContained(t, guest(t, "scripted"))
		p.until(t, "a process compiles", func() bool {
			for name, state := range childProcesses(t, p.cmd.Process.Pid) {
				if state != "Z" && strings.Contains(name, "exe") {
					return true
				}
			}
			return false
		})
		p.signal(t, syscall.SIGTERM)
		if code := p.exits(t); code != 0 {
			t.Errorf("exit code %d, want 0", code)
		}
	})
}

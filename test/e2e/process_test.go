package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// result is how a command line has ended.
type result struct {
	code           int
	stdout, stderr string
}

// kopf runs a command line to its end.
func kopf(t *testing.T, env []string, args ...string) result {
	t.Helper()
	return ran(t, command(t, env, args...))
}

// ran runs a command to its end.
func ran(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	watchdog := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer watchdog.Stop()
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// command prepares a command line; env comes on top of an environment without a cluster.
func command(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(commandLine(t), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+os.DevNull)
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// process is an operator in a process of its own.
type process struct {
	space
	cmd            *exec.Cmd
	stdout, stderr *journal
	ended          chan struct{} // closed when the process has
}

// run starts `kopf run` for the namespace with the guest "scripted", and waits
// until it watches.
func (s space) run(t *testing.T, args ...string) *process {
	t.Helper()
	p := s.spawn(t, args...)
	p.says(t, "Starting the watch-stream for kopfexamples")
	return p
}

// spawn starts `kopf run` without waiting.
func (s space) spawn(t *testing.T, args ...string) *process {
	t.Helper()
	return s.spawnModule(t, guest(t, "scripted"), args...)
}

// spawnModule is spawn with another module.
func (s space) spawnModule(t *testing.T, module string, args ...string) *process {
	t.Helper()
	args = append([]string{"run", "--verbose", "-n", s.namespace}, append(args, module)...)
	return s.operate(t, []string{"KUBECONFIG=" + s.Kubeconfig()}, args...)
}

// spawnVia is spawn with another kubeconfig.
func (s space) spawnVia(t *testing.T, kubeconfig string, args ...string) *process {
	t.Helper()
	args = append([]string{"run", "--verbose", "-n", s.namespace}, append(args, guest(t, "scripted"))...)
	return s.operate(t, []string{"KUBECONFIG=" + kubeconfig}, args...)
}

// operate starts a command line, and does not wait for anything.
func (s space) operate(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	return s.supervise(t, command(t, env, args...))
}

// supervise starts a command that is an operator.
func (s space) supervise(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{space: s, cmd: cmd, stdout: &journal{}, stderr: &journal{}, ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { // Waited for by the clean-up below.
		defer close(p.ended)
		_ = p.cmd.Wait() // the exit code is looked at
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it has ended, unless the test has failed
		<-p.ended
		if t.Failed() {
			t.Logf("standard error of %v:\n%s\nstandard output:\n%s", p.cmd.Args, p.stderr, p.stdout)
		}
	})
	return p
}

// says waits until there is a line with the text in the standard error.
func (p *process) says(t *testing.T, text string) {
	t.Helper()
	p.until(t, "it says "+text, func() bool {
		ended := false
		select {
		case <-p.ended:
			ended = true // and all that it has said is here
		default:
		}
		said := len(p.stderr.With(text)) > 0
		if ended && !said {
			t.Fatalf("it has ended with the code %d", p.cmd.ProcessState.ExitCode())
		}
		return said
	})
}

func (p *process) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	if sig == syscall.SIGSTOP && runtime.GOOS == "linux" {
		p.stands(t)
	}
}

// stands waits until a process that was stopped stands still: on a busy machine, its threads continue after the call of kill.
func (p *process) stands(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.cmd.Process.Pid))
		if err != nil || len(tasks) == 0 {
			t.Fatalf("its threads cannot be read: %v", err)
		}
		running := 0
		for _, task := range tasks {
			text, err := os.ReadFile(task)
			if _, state, ok := strings.Cut(string(text), ") "); err == nil && ok && !strings.HasPrefix(state, "T") {
				running++
			}
		}
		switch {
		case running == 0:
			return
		case time.Now().After(deadline):
			t.Fatalf("%d of its %d threads still run after SIGSTOP", running, len(tasks))
		}
	}
}

// exits waits for the end of the process, and returns the exit code.
func (p *process) exits(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	return p.cmd.ProcessState.ExitCode()
}

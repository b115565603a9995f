package kopftest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// Runner runs a whole command line of kopf in the background of a test: an
// operator on a real cluster, as its users run it.
//
//	func TestOperator(t *testing.T) {
//		runner := kopftest.Start(t, "run", "operator.wasm", "-n", "default", "--verbose")
//		runner.Until(t, "Handling cycle is finished", time.Minute)
//		if code := runner.Stop(t); code != 0 {
//			t.Errorf("exit code %d:\n%s", code, runner.Output())
//		}
//	}
//
// The program is kopf on the PATH, or that of the variable KOPF. The cluster is
// that of kubectl.
//
// Kopf: kopf.testing.KopfRunner (v1.45).
type Runner struct {
	cmd    *exec.Cmd
	done   chan struct{} // closed when err is set
	err    error
	output lines
}

// stopTime is how long an operator may take to end.
const stopTime = 30 * time.Second

// Start starts the command. If the test does not stop it, and it has not ended by
// itself, the test fails at its end, and the command is killed.
func Start(tb testing.TB, args ...string) *Runner {
	tb.Helper()
	r := &Runner{cmd: exec.Command(cmp.Or(os.Getenv("KOPF"), "kopf"), args...), done: make(chan struct{})}
	r.output.changed = make(chan struct{})
	r.cmd.Stdout, r.cmd.Stderr = &r.output, &r.output
	if err := r.cmd.Start(); err != nil {
		tb.Fatalf("kopftest: %v (set KOPF to the path of the program)", err)
	}
	go func() { // Waited for at the end of the test.
		r.err = r.cmd.Wait()
		close(r.done)
	}()
	tb.Cleanup(func() {
		select {
		case <-r.done:
		default:
			tb.Errorf("kopftest: %s was not stopped by the test", strings.Join(r.cmd.Args, " "))
			_ = r.cmd.Process.Kill() // it has ended, or it ends
			<-r.done
		}
		if tb.Failed() {
			tb.Logf("output of %s:\n%s", strings.Join(r.cmd.Args, " "), r.Output())
		}
	})
	return r
}

// Until waits until the output contains the text.
func (r *Runner) Until(tb testing.TB, text string, patience time.Duration) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience) //nolint:forbidigo // of the patience alone
	defer cancel()
	for {
		output, changed := r.output.now()
		if strings.Contains(output, text) {
			return
		}
		select {
		case <-changed:
		case <-r.done:
			if output, _ = r.output.now(); !strings.Contains(output, text) {
				tb.Fatalf("kopftest: it ended without saying %q", text)
			}
			return
		case <-ctx.Done():
			tb.Fatalf("kopftest: it did not say %q within %v", text, patience)
		}
	}
}

// Stop stops the command as Ctrl-C does, unless it has ended, and returns its exit code.
func (r *Runner) Stop(tb testing.TB) (code int) {
	tb.Helper()
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		tb.Errorf("kopftest: %v", err)
	}
	return r.Wait(tb, stopTime)
}

// Wait waits until the command ends by itself, and returns its exit code.
func (r *Runner) Wait(tb testing.TB, patience time.Duration) (code int) {
	tb.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-r.done:
	case <-timer.C:
		tb.Fatalf("kopftest: it did not end within %v", patience)
	}
	var exit *exec.ExitError
	if r.err != nil && !errors.As(r.err, &exit) {
		tb.Fatalf("kopftest: %v", r.err)
	}
	return r.cmd.ProcessState.ExitCode()
}

// Output is what the command has written so far: the log, and what modules print.
func (r *Runner) Output() string {
	output, _ := r.output.now()
	return output
}

// lines collects output and tells when there is more.
type lines struct {
	mu      sync.Mutex // guards all below
	text    bytes.Buffer
	changed chan struct{} // closed at the next change
}

var _ io.Writer = (*lines)(nil)

// Write adds output.
func (l *lines) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.changed)
	l.changed = make(chan struct{})
	return l.text.Write(data)
}

func (l *lines) now() (string, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String(), l.changed
}

package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/test/sources"
)

// nativeGo builds a guest of test/guests/go as a native program.
func nativeGo(t *testing.T, name string) string {
	t.Helper()
	sources.WatchGo(t, "test/guests/go")
	return once(t, name, func(out string) *exec.Cmd {
		cmd := exec.Command("go", "build", "-buildvcs=false", "-o", out, "./"+name)
		cmd.Dir = guestsDir
		return cmd
	})
}

// nativeRust builds one of the examples of the guest of the SDK for Rust: native is that guest as
// a program. It skips the test if there is no cargo, but never in CI.
func nativeRust(t *testing.T, name string) string {
	t.Helper()
	if _, err := exec.LookPath("cargo"); err != nil && os.Getenv("CI") != "true" {
		t.Skip("SKIPPED: native operators in Rust need cargo: https://rustup.rs, or apt-get install cargo")
	}
	sources.WatchRust(t, "test/guests/rust/sdk")
	target, err := filepath.Abs(repository + "/.cache/rust/target")
	if err != nil {
		t.Fatal(err)
	}
	return once(t, "rust-"+name, func(out string) *exec.Cmd {
		cmd := exec.Command("sh", "-c", `cargo build --quiet --locked --example "$2" && cp "$0/debug/examples/$2" "$1"`, target, out, name)
		cmd.Dir = repository + "/test/guests/rust/sdk"
		cmd.Env = append(os.Environ(), "CARGO_TARGET_DIR="+target)
		return cmd
	})
}

// spawnNative starts a native operator for the namespace, and waits until it watches.
func (s space) spawnNative(t *testing.T, program string) *process {
	t.Helper()
	ours := command(t, nil)
	cmd := exec.Command(program, "--verbose", "-n", s.namespace)
	cmd.Env = append(ours.Env, "KUBECONFIG="+s.Kubeconfig(), "KOPF="+ours.Path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // for Ctrl-C
	p := s.supervise(t, cmd)
	p.says(t, "Starting the watch-stream for kopfexamples")
	return p
}

// TestNativeGo: the whole operator in a program of its own, as `go run` starts it; its
// panics cost one attempt (EDGES 33).
func TestNativeGo(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	p := s.spawnNative(t, nativeGo(t, "scripted"))
	s.create(t, "panics", "{do: panic, times: 1}")
	s.create(t, "sleeps", "{do: sleep, seconds: 1}")
	s.create(t, "temporary", "{do: temporary, seconds: 1, times: 1}")
	for _, name := range []string{"panics", "sleeps", "temporary"} {
		s.handled(t, name)
	}
	p.says(t, "the script wants a panic")
	p.says(t, "failed temporarily: not yet")
	interrupt(t, p)

	again := s.spawnNative(t, nativeGo(t, "scripted"))
	terminate(t, again)
}

// TestNativeRust: the same in Rust, as `cargo run` starts it; with all that a handler can do.
func TestNativeRust(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	p := s.spawnNative(t, nativeRust(t, "native"))
	names := []string{"plain", "temporary", "panic", "wait", "events", "subs"}
	for _, name := range names {
		s.create(t, name, "{do: "+name+"}")
	}
	s.create(t, "edit", "{do: edit}")
	s.createLabelled(t, "ticking", "ticking", "{}")
	s.createLabelled(t, "watched", "watched", "{size: 1}")
	for _, name := range names {
		s.handled(t, name)
	}
	p.says(t, "panicked: the spec of panic wants a panic")
	p.says(t, "the size is 1")
	s.patch(t, "watched", `{"spec": {"size": 2}}`)
	p.says(t, "the size is 2")
	s.until(t, "the transformation function ran", func() bool { return s.get(t, "edit").GetAnnotations()["edited"] == "yes" })
	want := map[string]any{"ticks": int64(3), "group": int64(0), "keys": int64(0), "started": "by configure", "random": int64(0)}
	s.until(t, "the timer has ticked", func() bool {
		status, _ := s.get(t, "ticking").Object["status"].(map[string]any)
		return cmp.Equal(want, status["tick"])
	})
	interrupt(t, p)
	p.said(t, "stopped: [\"operator_exiting\"]")

	again := s.spawnNative(t, nativeRust(t, "native"))
	again.says(t, "the size is 2")
	terminate(t, again)
	again.said(t, "stopped: [\"operator_exiting\"]")
}

// said is says for operators that have ended.
func (p *process) said(t *testing.T, text string) {
	t.Helper()
	if len(p.stderr.With(text)) == 0 {
		t.Errorf("it did not say %q", text)
	}
}

// interrupt types Ctrl-C: the whole group of processes gets it, and ends gracefully.
func interrupt(t *testing.T, p *process) {
	t.Helper()
	if err := syscall.Kill(-p.cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("it ended with the code %d", code)
	}
}

// terminate stops the program alone, as service managers do; it stops kopf.
func terminate(t *testing.T, p *process) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("it ended with the code %d", code)
	}
}

// TestRustRunner: the runner of the SDK for Rust runs a command line on a real cluster.
func TestRustRunner(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	ours := command(t, nil)
	cmd := exec.Command(nativeRust(t, "runner"), "run", guest(t, "scripted"), "--verbose", "-n", s.namespace)
	cmd.Env = append(ours.Env, "KUBECONFIG="+s.Kubeconfig(), "KOPF="+ours.Path)
	output, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(output), "exit code 0\n") || !strings.Contains(string(output), "kopfexamples") {
		t.Errorf("got the error %v and the output:\n%s", err, output)
	}
}

// TestNativeProgramDies: kopf ends with the program that started it, and says so.
func TestNativeProgramDies(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	p := s.spawnNative(t, nativeGo(t, "scripted"))
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.until(t, "kopf ends", func() bool { return len(p.stderr.With("the program of the operator has ended")) > 0 })
	<-p.ended
}

// TestNativeRefusals: - is for programs that the SDKs start.
func TestNativeRefusals(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args []string
		says string
	}{
		"a terminal":            {[]string{"run", "-", "-A"}, "standard input is no connection"},
		"together with modules": {[]string{"run", "-", "a.wasm", "-A"}, "- is the whole operator"},
		"verified":              {[]string{"run", "-", "-A", "-k", "x.pub"}, "which cannot be verified"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if r := kopf(t, nil, tt.args...); r.code != 2 || !strings.Contains(r.stderr, tt.says) {
				t.Errorf("it ended with the code %d: %s", r.code, r.stderr)
			}
		})
	}
}

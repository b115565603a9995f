// Package oci_test carries modules through real registries, with the command line
// and with the tools of others.
package oci_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/test/sources"
)

const repository = "../.."

// built is the program and a guest, compiled and annotated once.
var built = sync.OnceValues(func() (string, error) {
	dir, err := filepath.Abs(repository + "/.cache/test/oci")
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	program := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(dir, "kopf"), ".")
	program.Dir = repository + "/cmd/kopf"
	program.Env = append(os.Environ(), "GOWORK=off")
	if text, err := program.CombinedOutput(); err != nil {
		return "", errors.New(string(text))
	}
	guest := exec.Command("go", "build", "-buildvcs=false", "-buildmode=c-shared", "-o", filepath.Join(dir, "operator.wasm"), "./scripted")
	guest.Dir = repository + "/test/guests/go"
	guest.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := guest.CombinedOutput(); err != nil {
		return "", errors.New(string(text))
	}
	annotate := exec.Command(filepath.Join(dir, "kopf"), "annotate", filepath.Join(dir, "operator.wasm"))
	annotate.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"))
	if text, err := annotate.CombinedOutput(); err != nil {
		return "", errors.New(string(text))
	}
	return dir, nil
})

// bench is a user with a home of their own.
type bench struct {
	t    *testing.T
	home string
	env  []string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	sources.WatchCommandLine(t)
	sources.WatchGo(t, "test/guests/go")
	if _, err := built(); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	// The store is each user's own, compiled code is shared: compiling takes seconds.
	dir, _ := built()
	if err := os.MkdirAll(filepath.Join(home, "cache", "kopf"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "cache", "kopf", "wasm"), filepath.Join(home, "cache", "kopf", "wasm")); err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, home: home, env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CACHE_HOME=" + filepath.Join(home, "cache"),
		"XDG_CONFIG_HOME=" + filepath.Join(home, "config"), "KUBECONFIG=" + os.DevNull,
	}}
}

// module is the path of the guest.
func (b *bench) module() string {
	dir, _ := built()
	return filepath.Join(dir, "operator.wasm")
}

// file writes a file below the home, and returns its path.
func (b *bench) file(name, content string) string {
	b.t.Helper()
	path := filepath.Join(b.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// result is how a command line has ended.
type result struct {
	code           int
	stdout, stderr string
}

// kopf runs the command line to its end.
func (b *bench) kopf(args ...string) result {
	b.t.Helper()
	dir, _ := built()
	return b.run(filepath.Join(dir, "kopf"), args...)
}

func (b *bench) run(program string, args ...string) result {
	b.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = b.env, b.home, &stdout, &stderr
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	watchdog := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	defer watchdog.Stop()
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		b.t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// must runs a command line that has to succeed, and returns what it prints.
func (b *bench) must(args ...string) string {
	b.t.Helper()
	r := b.kopf(args...)
	if r.code != 0 {
		b.t.Fatalf("kopf %s: exit code %d\n%s", strings.Join(args, " "), r.code, r.stderr)
	}
	return strings.TrimSpace(r.stdout)
}

// refused runs a command line that has to fail with the code and the words, one error in one line.
func (b *bench) refused(code int, words []string, args ...string) {
	b.t.Helper()
	r := b.kopf(args...)
	if r.code != code {
		b.t.Errorf("kopf %s: exit code %d, want %d\n%s", strings.Join(args, " "), r.code, code, r.stderr)
	}
	if n := strings.Count(r.stderr, "Error: "); n != 1 {
		b.t.Errorf("kopf %s: %d errors, want one:\n%s", strings.Join(args, " "), n, r.stderr)
	}
	for _, word := range words {
		if !strings.Contains(r.stderr, word) {
			b.t.Errorf("kopf %s: no %q in the error:\n%s", strings.Join(args, " "), word, r.stderr)
		}
	}
}

// read reads a file below the home.
func (b *bench) read(name string) string {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.home, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

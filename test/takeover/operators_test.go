package takeover_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/operator"
)

const (
	root      = "../.."
	recorder  = root + "/test/conformance/recorder/interp.py"
	guestCode = root + "/test/conformance/guests/go"
)

// call is one call of a handler, by one of the operators.
type call struct {
	By, Handler, Name string
	Retry             int
}

// calls collects what both operators print: a line for each call.
type calls struct {
	mu   sync.Mutex
	list []call
}

func (c *calls) read(by string, output io.Reader) {
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line call
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Handler != "" {
			line.By = by
			c.mu.Lock()
			c.list = append(c.list, line)
			c.mu.Unlock()
		}
	}
}

func (c *calls) all() []call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]call(nil), c.list...)
}

// journal is what both operators log.
type journal struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// count is how often something was said.
func (j *journal) count(words string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Count(j.text.String(), words)
}

// setup is one operator for both: the interpreter of conformance cases, in Python
// and as a guest.
type setup struct {
	calls      *calls
	log        journal
	kubeconfig string
	namespace  string
	caseFile   string
	reference  string // the command
	module     string

	priorities map[string]int // of both in the peering object "default"; nil: they do not look for each other
}

// start runs one of the operators; the returned function stops it.
func (s *setup) start(t *testing.T, by string) (stop func()) {
	t.Helper()
	if by == "reference" {
		return s.startReference(t)
	}
	return s.startGuest(t)
}

func (s *setup) startReference(t *testing.T) (stop func()) {
	t.Helper()
	script, err := filepath.Abs(recorder)
	if err != nil {
		t.Fatal(err)
	}
	peering := []string{"--standalone"}
	if s.priorities != nil {
		peering = []string{"--peering", "default", "--priority", strconv.Itoa(s.priorities["reference"])}
	}
	cmd := exec.Command(s.reference, append([]string{"run", script, "-n", s.namespace}, peering...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.kubeconfig, "KOPF_CASE_JSON="+s.caseFile, "KOPF_CASE_OPERATOR=main", "PYTHONUNBUFFERED=1")
	var log strings.Builder
	cmd.Stderr = io.MultiWriter(&log, &s.log)
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	reading.Go(func() { s.calls.read("reference", output) })
	return func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have failed already: see below
		reading.Wait()
		if err := cmd.Wait(); t.Failed() || err != nil {
			t.Logf("the reference ended with %v:\n%s", err, log.String())
		}
	}
}

func (s *setup) startGuest(t *testing.T) (stop func()) {
	t.Helper()
	text, err := os.ReadFile(s.caseFile)
	if err != nil {
		t.Fatal(err)
	}
	peering := operator.Peering{Standalone: new(true)}
	if s.priorities != nil {
		peering = operator.Peering{Name: "default", Priority: new(s.priorities["guest"])}
	}
	ctx, cancel := context.WithCancel(t.Context())
	output, input := io.Pipe()
	go s.calls.read("guest", output) // Ends when the pipe is closed below.
	done := make(chan error, 1)
	go func() { // Waited for by stop.
		done <- operator.Run(ctx, operator.Options{
			AllowOverlap: true, // they stand for several processes
			Modules:      []string{s.module}, Namespaces: []string{s.namespace}, Log: zerolog.New(io.MultiWriter(zerolog.NewTestWriter(t), &s.log)).Level(zerolog.InfoLevel),
			Login: operator.KubeconfigAt(s.kubeconfig), Peering: peering,
			Host: host.Options{Stdout: input, Config: map[string]string{"KOPF_CASE_JSON_TEXT": string(text), "KOPF_CASE_OPERATOR": "main"}},
		})
	}()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the guest's operator: %v", err)
		}
		input.Close()
	}
}

// buildGuest compiles the interpreter.
func buildGuest(t *testing.T) string {
	t.Helper()
	module := filepath.Join(t.TempDir(), "interpreter.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-o", module, ".")
	cmd.Dir = guestCode
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the guest: %v\n%s", err, text)
	}
	return module
}

// reference finds the reference, or skips the test: never in CI.
func reference(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(root + "/scripts/reference.sh")
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		message := fmt.Sprintf("the reference cannot be installed: %v", err)
		if os.Getenv("CI") != "" {
			t.Fatal(message)
		}
		t.Skip(message)
	}
	return strings.TrimSpace(string(text))
}

func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if check() {
			return
		}
	}
	t.Fatalf("timed out waiting for %s", what)
}

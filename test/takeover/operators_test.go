package takeover_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	"github.com/kopf-wasm/kopf/internal/pathtest"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/test/clustertest"
	"github.com/kopf-wasm/kopf/test/lines"
	"github.com/kopf-wasm/kopf/test/sources"
)

const (
	root      = "../.."
	recorder  = root + "/test/conformance/recorder/interp.py"
	guestCode = root + "/test/conformance/guests/go"

	patience = 2 * time.Minute // of conditions
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

// setup is one operator for both: a script of the reference, and what stands for it here.
type setup struct {
	calls      *calls
	log        lines.Lines // of both
	cluster    *clustertest.ControlPlane
	kubeconfig string
	namespace  string
	reference  string // the command

	script      string                  // that the reference runs
	environment []string                // of the reference
	here        func(*operator.Options) // chooses the modules here

	peering    string         // the name of their peering object; empty: they do not look for each other
	priorities map[string]int // of both in the peering object
}

// newSetup prepares a namespace for both. The caller chooses what they run.
func newSetup(t *testing.T) *setup {
	t.Helper()
	s := &setup{calls: &calls{}, reference: reference(t), cluster: clustertest.Cluster(t)}
	s.kubeconfig, s.namespace = s.cluster.Kubeconfig(), s.cluster.Namespace(t)
	crds, err := os.ReadFile(root + "/test/conformance/crds/base.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s.cluster.Apply(t, string(crds))
	return s
}

// newInterpreter makes both run the interpreter of conformance cases, in Python and as a guest.
func newInterpreter(t *testing.T) *setup {
	t.Helper()
	s := newSetup(t)
	module, caseFile := buildGuest(t), filepath.Join(t.TempDir(), "case.json")
	if err := os.WriteFile(caseFile, []byte(definition), 0o600); err != nil {
		t.Fatal(err)
	}
	s.script, s.environment = pathtest.Absolute(t, recorder), []string{"KOPF_CASE_JSON=" + caseFile, "KOPF_CASE_OPERATOR=main"}
	s.here = func(o *operator.Options) {
		o.Modules = []string{module}
		o.Host.Config = map[string]string{"KOPF_CASE_JSON_TEXT": definition, "KOPF_CASE_OPERATOR": "main"}
	}
	return s
}

// start runs one of the operators; the returned function stops it.
func (s *setup) start(t *testing.T, by string) (stop func()) {
	t.Helper()
	if by == "reference" {
		return s.startReference(t)
	}
	return s.startHere(t, by)
}

func (s *setup) startReference(t *testing.T) (stop func()) {
	t.Helper()
	peering := []string{"--standalone"}
	if s.peering != "" {
		peering = []string{"--peering", s.peering, "--priority", strconv.Itoa(s.priorities["reference"])}
	}
	cmd := exec.Command(s.reference, append([]string{"run", s.script, "-n", s.namespace}, peering...)...)
	cmd.Env = append(append(os.Environ(), "KUBECONFIG="+s.kubeconfig, "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1"), s.environment...)
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
	stop = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have failed already: see below
		reading.Wait()
		if err := cmd.Wait(); t.Failed() || err != nil {
			t.Logf("the reference ended with %v:\n%s", err, log.String())
		}
	})
	t.Cleanup(stop) // of tests that have failed
	return stop
}

// startHere runs the operator of this project. Python imports its packages at the start, which
// takes long on a busy machine.
func (s *setup) startHere(t *testing.T, by string) (stop func()) {
	t.Helper()
	output, input := io.Pipe()
	go s.calls.read(by, output) // Ends when the pipe is closed below.
	o := operator.Options{
		AllowOverlap: true, // they stand for several processes
		Namespaces:   []string{s.namespace}, Log: zerolog.New(io.MultiWriter(zerolog.NewTestWriter(t), &s.log)).Level(zerolog.InfoLevel),
		Login: operator.KubeconfigAt(s.kubeconfig), Peering: operator.Peering{Standalone: new(true)},
		Host: host.Options{Stdout: input, RegisterTimeout: patience, ComputeLimit: patience},
	}
	if s.peering != "" {
		o.Peering = operator.Peering{Name: s.peering, Priority: new(s.priorities[by])}
	}
	s.here(&o)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- operator.Run(ctx, o) }() // Waited for by stop.
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the operator here: %v", err)
		}
		input.Close()
	})
	t.Cleanup(stop) // of tests that have failed
	return stop
}

// pythonEngine returns the engine of Python, or skips the test: never in CI.
func pythonEngine(t *testing.T) string {
	t.Helper()
	engine := pathtest.Absolute(t, root+"/bin/engines/python.wasm")
	if _, err := os.Stat(engine); errors.Is(err, fs.ErrNotExist) && os.Getenv("CI") != "true" {
		t.Skip("SKIPPED: no engine of Python: `make engines` builds it, or says what is missing")
	} else if err != nil {
		t.Fatal(err)
	}
	return engine
}

// buildGuest compiles the interpreter.
func buildGuest(t *testing.T) string {
	t.Helper()
	sources.WatchGo(t, "test/conformance/guests/go")
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
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if check() {
			return
		}
	}
	t.Fatalf("timed out waiting for %s", what)
}

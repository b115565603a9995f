package takeover_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/test/clustertest"
)

// scriptOfBoth is one file that both run. It prints a line for each call.
const scriptOfBoth = `
import json
import kopf

def called(handler, name, retry):
    print(json.dumps({'Handler': handler, 'Name': name, 'Retry': retry}), flush=True)

@kopf.on.startup()
def configure(settings, **_):
    settings.persistence.finalizer = 'example.com/finalizer'

@kopf.on.create('kopfexamples')
def create_fn(name, retry, spec, patch, **_):
    called('create_fn', name, retry)
    patch.status['seen'] = True
    if retry < 2 and spec.get('hard'):
        raise kopf.TemporaryError("again", delay=3)
    return {'easy': not spec.get('hard')}

@kopf.on.create('kopfexamples')
async def parent_fn(name, retry, spec, **_):
    called('parent_fn', name, retry)
    for item in spec.get('items', []):
        @kopf.subhandler(id=item)
        async def child_fn(name, retry, item=item, **_):
            called(item, name, retry)

@kopf.on.update('kopfexamples', field='spec.field')
def update_fn(name, retry, new, **_):
    called('update_fn', name, retry)

@kopf.on.delete('kopfexamples')
def delete_fn(name, retry, **_):
    called('delete_fn', name, retry)
    if retry < 1:
        raise kopf.TemporaryError("hold", delay=3)
`

// scripts runs one script under the reference or here.
type scripts struct {
	setup
	script, engine string
}

// start runs the script; the returned function stops it.
func (s *scripts) start(t *testing.T, by string) (stop func()) {
	t.Helper()
	if by == "reference" {
		return s.startReference(t)
	}
	return s.startHere(t)
}

func (s *scripts) startReference(t *testing.T) (stop func()) {
	t.Helper()
	cmd := exec.Command(s.reference, "run", s.script, "-n", s.namespace, "--standalone")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.kubeconfig, "PYTHONUNBUFFERED=1")
	var log strings.Builder
	cmd.Stderr = &log
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

func (s *scripts) startHere(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	output, input := io.Pipe()
	go s.calls.read("guest", output) // Ends when the pipe is closed below.
	done := make(chan error, 1)
	go func() { // Waited for by stop.
		done <- operator.Run(ctx, operator.Options{
			AllowOverlap: true, // they stand for several processes
			Modules:      []string{s.script}, Engine: s.engine, Namespaces: []string{s.namespace}, Log: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.InfoLevel),
			Login: operator.KubeconfigAt(s.kubeconfig), Peering: operator.Peering{Standalone: new(true)},
			Host: host.Options{Stdout: input, RegisterTimeout: time.Minute},
		})
	}()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the operator here: %v", err)
		}
		input.Close()
	}
}

// newScripts prepares a namespace for both.
func newScripts(t *testing.T) (*scripts, *clustertest.ControlPlane) {
	t.Helper()
	engine, err := filepath.Abs(root + "/bin/engines/python.wasm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(engine); errors.Is(err, fs.ErrNotExist) && os.Getenv("CI") != "true" {
		t.Skip("SKIPPED: no engine of Python: `make engines` builds it, or says what is missing")
	} else if err != nil {
		t.Fatal(err)
	}
	s := &scripts{setup: setup{calls: &calls{}, reference: reference(t)}, engine: engine, script: filepath.Join(t.TempDir(), "op.py")}
	cluster := clustertest.Cluster(t)
	s.kubeconfig, s.namespace = cluster.Kubeconfig(), cluster.Namespace(t)
	if err := os.WriteFile(s.script, []byte(scriptOfBoth), 0o600); err != nil {
		t.Fatal(err)
	}
	crds, err := os.ReadFile(root + "/test/conformance/crds/base.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cluster.Apply(t, string(crds))
	return s, cluster
}

// TestScriptsMove: a script in Python goes from the reference to here and back, in the middle
// of retries and of a deletion. No handler is called again.
func TestScriptsMove(t *testing.T) {
	s, cluster := newScripts(t)
	objects := cluster.Resource(t, schema.GroupVersionKind{Group: "kopf.dev", Version: "v1", Kind: "KopfExample"}, s.namespace)
	create := func(name, spec string) {
		cluster.ApplyIn(t, s.namespace, "{apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: "+name+"}, spec: "+spec+"}")
	}
	var want []call
	expect := func(by, handler, name string, retry int) {
		t.Helper()
		want = append(want, call{by, handler, name, retry})
		eventually(t, handler+" of "+name+" by "+by, func() bool { return slices.Contains(s.calls.all(), want[len(want)-1]) })
	}
	get := func(name string) *unstructured.Unstructured {
		t.Helper()
		got, err := objects.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	annotated := func(name, key, text string) {
		t.Helper()
		eventually(t, text+" in "+key+" of "+name, func() bool {
			return strings.Contains(get(name).GetAnnotations()["kopf.zalando.org/"+key], text)
		})
	}

	stop := s.start(t, "reference")
	create("one", "{field: a, items: [first]}")
	for _, handler := range []string{"create_fn", "parent_fn", "first"} {
		expect("reference", handler, "one", 0)
	}
	annotated("one", "last-handled-configuration", `"a"`)
	create("hard", "{field: a, hard: true}")
	expect("reference", "create_fn", "hard", 0)
	expect("reference", "parent_fn", "hard", 0)
	annotated("hard", "create_fn", `"retries":1`)
	stop()

	stop = s.start(t, "guest")
	expect("guest", "create_fn", "hard", 1)
	annotated("hard", "create_fn", `"retries":2`)
	create("two", "{field: a, items: [only]}")
	for _, handler := range []string{"create_fn", "parent_fn", "only"} {
		expect("guest", handler, "two", 0)
	}
	annotated("two", "last-handled-configuration", `"a"`)
	if _, err := objects.Patch(t.Context(), "one", types.MergePatchType, []byte(`{"spec":{"field":"b"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	expect("guest", "update_fn", "one", 0)
	annotated("one", "last-handled-configuration", `"b"`)
	stop()

	stop = s.start(t, "reference")
	expect("reference", "create_fn", "hard", 2)
	annotated("hard", "last-handled-configuration", `"a"`)
	if err := objects.Delete(t.Context(), "two", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	expect("reference", "delete_fn", "two", 0)
	annotated("two", "delete_fn", `"retries":1`)
	stop()

	stop = s.start(t, "guest")
	expect("guest", "delete_fn", "two", 1)
	eventually(t, "the object to be gone", func() bool {
		_, err := objects.Get(t.Context(), "two", metav1.GetOptions{})
		return err != nil
	})
	create("last", "{field: a}") // what was not handled before it is not handled again
	expect("guest", "create_fn", "last", 0)
	expect("guest", "parent_fn", "last", 0)
	annotated("last", "last-handled-configuration", `"a"`)
	stop()

	if diff := cmp.Diff(sortedFully(want), sortedFully(s.calls.all())); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	for name, status := range map[string]string{"one": "true", "hard": "false"} {
		fields, _, _ := unstructured.NestedMap(get(name).Object, "status", "create_fn")
		if seen, _, _ := unstructured.NestedBool(get(name).Object, "status", "seen"); !seen || fields["easy"] != (status == "true") {
			t.Errorf("%s has the status %v", name, get(name).Object["status"])
		}
	}
}

// sortedFully ignores the order of all calls.
func sortedFully(list []call) []call {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b call) int {
		return strings.Compare(a.Name+a.Handler+a.By+string(rune('0'+a.Retry)), b.Name+b.Handler+b.By+string(rune('0'+b.Retry)))
	})
	return list
}

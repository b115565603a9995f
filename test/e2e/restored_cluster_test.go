package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-wasm/kopf/test/clustertest"
	"github.com/kopf-wasm/kopf/test/porttest"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// storage is the folder of etcd's data within that of a cluster.
const storage = "etcd"

// fallible is a cluster of its own, whose API server can come back with other data.
type fallible struct {
	space
	options clustertest.Options
}

func newFallible(t *testing.T) *fallible {
	t.Helper()
	f := &fallible{options: clustertest.Options{Dir: t.TempDir()}}
	f.start(t)
	f.define(t)
	return f
}

func (f *fallible) start(t *testing.T) {
	t.Helper()
	before := f.ControlPlane
	f.space = space{clustertest.Start(t, f.options), "served"}
	if before != nil && before.RESTConfig().Host != f.RESTConfig().Host {
		t.Fatalf("the server was at %s, and has come back at %s", before.RESTConfig().Host, f.RESTConfig().Host)
	}
}

// define applies the definitions and the namespace, which the operator serves.
func (f *fallible) define(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile("../conformance/crds/base.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f.Apply(t, string(text)+"\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: "+f.namespace+"}}")
}

// snapshot keeps the present data; the server is down for a moment.
func (f *fallible) snapshot(t *testing.T) string {
	t.Helper()
	f.Stop(t)
	dir := filepath.Join(t.TempDir(), storage)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(f.options.Dir, storage))); err != nil {
		t.Fatal(err)
	}
	f.start(t)
	return dir
}

// comeBack stops the server, and starts it with the data of a snapshot; with none if that is empty.
func (f *fallible) comeBack(t *testing.T, snapshot string) {
	t.Helper()
	f.Stop(t)
	dir := filepath.Join(f.options.Dir, storage)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if snapshot != "" {
		if err := os.CopyFS(dir, os.DirFS(snapshot)); err != nil {
			t.Fatal(err)
		}
	}
	f.start(t)
}

// version is the present version of the server's data.
func (f *fallible) version(t *testing.T) int {
	t.Helper()
	list, err := f.client(examples).List(t.Context(), metav1.ListOptions{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	version, err := strconv.Atoi(list.GetResourceVersion())
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// age makes so many versions of the server's data, so that another server does not reach the
// present one soon.
func (f *fallible) age(t *testing.T, versions int) {
	t.Helper()
	f.ApplyIn(t, f.namespace, configMap("age", "n: ''"))
	for n := range versions {
		f.patchOf(t, configMaps, "age", fmt.Sprintf(`{"data":{"n":"%d"}}`, n))
	}
}

// reasons are those of all calls for an object.
func (p *process) reasons(t *testing.T, name string) (reasons []string) {
	t.Helper()
	for _, c := range p.stdout.callsFor(t, name) {
		reasons = append(reasons, c.Reason)
	}
	return reasons
}

// isBefore checks that the server has not reached the version that another one had: otherwise, the test proves nothing.
func (f *fallible) isBefore(t *testing.T, reached int) {
	t.Helper()
	if now := f.version(t); now >= reached {
		t.Errorf("the server has reached the version %d again (%d by now): this proves nothing", reached, now)
	}
}

// hasHandled checks the reasons of all calls, by the names of objects, and that the operator is alive and ends in order.
func (p *process) hasHandled(t *testing.T, address string, wanted map[string]string) {
	t.Helper()
	for name, want := range wanted {
		if got := fmt.Sprint(p.reasons(t, name)); got != want {
			t.Errorf("%s: handlers for %s, want %s", name, got, want)
		}
	}
	if code := status(address, "/livez"); code != http.StatusOK {
		t.Errorf("/livez answers %d", code)
	}
	p.signal(t, syscall.SIGTERM)
	if code := p.exits(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestFaultsOfOlderData: a server comes back with an older state of its data, whose versions
// are lower than what the operator has seen. What there is then is handled; what had been
// created since is forgotten.
func TestFaultsOfOlderData(t *testing.T) {
	t.Parallel()
	f := newFallible(t)
	address := porttest.Unused(t)
	op := f.run(t, append(impatient, "--listen", address, "--config", "handlers=create update delete")...)
	f.createMany(t, "kept", 3)
	f.manyHandled(t, "kept", 0, 3)
	snapshot := f.snapshot(t)
	f.patch(t, "kept-1", `{"spec":{"field":"two"}}`)
	f.createMany(t, "lost", 3)
	f.manyHandled(t, "lost", 0, 3)
	f.until(t, "the update is handled", func() bool { return len(op.reasons(t, "kept-1")) == 2 })
	f.handled(t, "kept-1")
	f.remove(t, "kept-2")
	f.gone(t, "kept-2")
	waitFor(t, "all are remembered", func() bool { return metric(address, "kopf_objects") == "5" })
	f.age(t, 3000)
	reached := f.version(t)

	f.comeBack(t, snapshot)
	back := f.version(t)
	if back >= reached-1000 {
		t.Fatalf("the server comes back at the version %d, after %d: no older data", back, reached)
	}
	up := time.Now()
	waitFor(t, "the lost ones are forgotten, and the deleted one is back", func() bool { return metric(address, "kopf_objects") == "3" })
	f.createMany(t, "after", 3)
	f.manyHandled(t, "after", 0, 3)
	f.patch(t, "kept-0", `{"spec":{"field":"three"}}`)
	f.until(t, "the update of an old one is handled", func() bool { return len(op.reasons(t, "kept-0")) == 2 })
	f.patch(t, "kept-1", `{"spec":{"field":"two"}}`) // as before: for the server, it is new
	f.until(t, "the update is handled again", func() bool { return len(op.reasons(t, "kept-1")) == 3 })
	f.remove(t, "kept-2")
	f.gone(t, "kept-2")
	t.Logf("%v after the start of the server with older data, all is handled", time.Since(up).Round(10*time.Millisecond))
	f.isBefore(t, reached)
	f.manyHandled(t, "kept", 0, 2)
	op.hasHandled(t, address, map[string]string{
		"kept-0": "[create update]", "kept-1": "[create update update]", "kept-2": "[create delete delete]",
		"lost-0": "[create]", "after-0": "[create]", "after-2": "[create]",
	})
}

// TestFaultsOfNoData: a server comes back without any data. When the resource and the objects
// are there again, they are handled, though their versions are lower than ever before.
func TestFaultsOfNoData(t *testing.T) {
	t.Parallel()
	f := newFallible(t)
	address := porttest.Unused(t)
	op := f.run(t, append(impatient, "--listen", address, "--config", "handlers=create update delete")...)
	f.createMany(t, "obj", 3)
	f.manyHandled(t, "obj", 0, 3)
	f.age(t, 3000)
	reached := f.version(t)

	f.comeBack(t, "")
	up := time.Now()
	waitFor(t, "the resource is not served", func() bool { return len(op.stderr.With("Stopping the watch-stream for kopfexamples")) == 1 })
	f.define(t)
	f.createMany(t, "obj", 3)
	f.manyHandled(t, "obj", 0, 3)
	waitFor(t, "those of before are forgotten", func() bool { return metric(address, "kopf_objects") == "3" })
	f.patch(t, "obj-0", `{"spec":{"field":"two"}}`)
	f.until(t, "the update is handled", func() bool { return len(op.reasons(t, "obj-0")) == 3 })
	f.remove(t, "obj-1")
	f.gone(t, "obj-1")
	t.Logf("%v after the start of the server without data, all is handled", time.Since(up).Round(10*time.Millisecond))
	f.isBefore(t, reached)
	f.manyHandled(t, "obj", 2, 3)
	op.hasHandled(t, address, map[string]string{"obj-0": "[create create update]", "obj-1": "[create create delete]", "obj-2": "[create create]"})
}

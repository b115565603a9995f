// Package sdkgo_test runs a guest that is made with the Go SDK in the real host.
package sdkgo_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/test/sources"
)

// guest is the compiled guest of the tests. It is built once.
var guest = sync.OnceValues(func() ([]byte, error) { return build("guest") })

// build compiles a guest of testdata.
func build(name string) ([]byte, error) {
	folder, err := os.MkdirTemp("", "kopf-sdk-go-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	out := filepath.Join(folder, "guest.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-o", out, ".")
	cmd.Dir = filepath.Join("testdata", name)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOWORK=off")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	return os.ReadFile(out)
}

// load loads the guest with a configuration.
func load(t *testing.T, config map[string]string) (*host.Module, error) {
	t.Helper()
	sources.WatchGo(t, "test/sdk-go/testdata/guest")
	wasm, err := guest()
	if err != nil {
		t.Fatalf("building the guest: %v", err)
	}
	options := host.Options{Config: config, Secrets: map[string]string{"SECRET": "hush"}}
	module, err := host.Load(context.Background(), "guest.wasm", wasm, options)
	if err == nil {
		t.Cleanup(func() {
			if err := module.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	return module, err
}

// run is an invocation of one handler, up to its last step.
type run struct {
	t      *testing.T
	module *host.Module
	env    *env
	task   *host.Task
}

func newRun(t *testing.T) *run {
	t.Helper()
	module, err := load(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &run{t: t, module: module, env: &env{segments: map[uint32]string{}, memo: map[string]string{}}}
}

// start calls the handler with this id for an object.
func (r *run) start(id, body string) *abi.Step {
	r.t.Helper()
	for i, h := range r.module.Registration().Handlers {
		if h.ID != id {
			continue
		}
		inv := &abi.Invocation{Handler: i, Kind: h.Kind, ID: id, Param: h.Param, Name: "obj1", Reason: "create"}
		task, step, err := r.module.Start(context.Background(), inv, []byte(body), r.env)
		if err != nil {
			r.t.Fatal(err)
		}
		r.task = task
		r.t.Cleanup(func() { task.Release(context.Background()) })
		return step
	}
	r.t.Fatalf("no handler %s", id)
	return nil
}

func (r *run) resume(answer abi.Answer) *abi.Step {
	r.t.Helper()
	step, err := r.task.Resume(context.Background(), answer)
	if err != nil {
		r.t.Fatal(err)
	}
	return step
}

// want compares a step with its JSON form.
func want(t *testing.T, got *abi.Step, json string) {
	t.Helper()
	if diff := cmp.Diff(normal(t, json), normal(t, got)); diff != "" {
		t.Errorf("step (-want +got):\n%s", diff)
	}
}

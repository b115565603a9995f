package extism_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/test/sources"
)

// probe compiles testdata/probe.
func probe(t *testing.T) []byte {
	t.Helper()
	sources.Watch(t, "test/extism/testdata/probe")
	file := filepath.Join(t.TempDir(), "probe.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-o", file, "./testdata/probe")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the probe: %v\n%s", err, out)
	}
	wasm, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// config is what the probe is configured with.
var config = map[string]string{"present": "yes", "größe": "ü\n", "": "of no name", "other": strings.Repeat("x", 10_000)}

// requests is how many a daemon makes before it is to stop.
const requests = 20

// cluster answers requests, and stops the daemon when it has made some.
type cluster struct {
	quiet
	calls []abi.Call
}

func (c *cluster) Call(_ context.Context, call *abi.Call) abi.Answer {
	c.calls = append(c.calls, *call)
	return applied
}

func (c *cluster) Stopped() int {
	if len(c.calls) < requests {
		return 0
	}
	return abi.StopOperatorExiting
}

// sdkProbe is the probe under the SDK, with the functions of this project that it imports.
func sdkProbe(t *testing.T, wasm []byte, manifest extism.Manifest) (*plugin, *cluster) {
	t.Helper()
	c := &cluster{}
	call := extism.NewHostFunctionWithStack("kopf_call", func(ctx context.Context, current *extism.CurrentPlugin, stack []uint64) {
		var wanted abi.Call
		text, err := current.ReadBytes(stack[0])
		if err = errors.Join(err, json.Unmarshal(text, &wanted)); err != nil {
			t.Errorf("kopf_call: %v", err)
		}
		if stack[0], err = current.WriteBytes(encoded(t, c.Call(ctx, &wanted))); err != nil {
			t.Error(err)
		}
	}, []extism.ValueType{extism.ValueTypePTR}, []extism.ValueType{extism.ValueTypePTR})
	stopped := func(_ context.Context, _ *extism.CurrentPlugin, stack []uint64) { stack[0] = uint64(c.Stopped()) }
	wait := extism.NewHostFunctionWithStack("kopf_wait", stopped, []extism.ValueType{extism.ValueTypeI64}, []extism.ValueType{extism.ValueTypeI64})
	ask := extism.NewHostFunctionWithStack("kopf_stopped", stopped, nil, []extism.ValueType{extism.ValueTypeI64})
	functions := []extism.HostFunction{call, wait, ask}
	for i := range functions {
		functions[i].SetNamespace("extism:host/user")
	}
	manifest.Wasm = []extism.Wasm{extism.WasmData{Data: wasm}}
	made, err := extism.NewPlugin(t.Context(), manifest, extism.PluginConfig{EnableWasi: true, RuntimeConfig: wazero.NewRuntimeConfigInterpreter()}, functions)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = made.Close(context.Background()) }) // it is not used anymore
	return &plugin{Plugin: made}, c
}

// fails are the handlers that cannot end. The kernel of Extism drops what is stored outside of its memory, and the host ends the
// call: see abi/SPEC.md.
var fails = map[string]bool{"large_variable": true, "large_variables": true, "outside": true, "panic": true}

const outside = "outside"

// TestKernelUnderTheSDK: blocks of memory, variables, the configuration and the life of a daemon are as the kernel of
// Extism and its SDK have them. Each handler is called three times: variables stay, blocks do not.
func TestKernelUnderTheSDK(t *testing.T) {
	wasm := probe(t)
	theirs, their := sdkProbe(t, wasm, extism.Manifest{Config: config})
	ours, err := host.Load(t.Context(), "probe", wasm, host.Options{CacheDir: t.TempDir(), Config: config, MaxInstances: 1, IdleTimeout: time.Hour}) // the SDK takes its time
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ours.Close(context.Background()) }) // nothing runs anymore
	registered := theirs.call(t, "kopf_register", []byte(`{"abi":1}`))
	equal(t, "the registration", decoded(t, registered), decoded(t, ours.Registered()))
	for index, h := range ours.Registration().Handlers {
		calls := 3
		if fails[h.ID] {
			calls = 1
		}
		for retry := range calls {
			parent := t
			t.Run(h.ID, func(t *testing.T) {
				inv := abi.Invocation{Handler: index, Kind: h.Kind, ID: h.ID, Retry: retry, Started: "2026-01-01T00:00:00Z", Name: "x", UID: "uid-1"}
				our := &cluster{}
				their.calls = nil
				code, text, failed := theirs.Call("kopf_start", input(t, inv))
				task, step, err := ours.Start(t.Context(), &inv, []byte(body), our)
				if task != nil {
					task.Release(t.Context())
				}
				if h.ID == outside {
					failed = errors.Join(failed, err)
				}
				if (err != nil) != (failed != nil || code != 0) || (err != nil) != fails[h.ID] {
					t.Fatalf("under the SDK: code %d, %v; under the host: %v", code, failed, err)
				}
				if err != nil {
					theirs, their = sdkProbe(parent, wasm, extism.Manifest{Config: config}) // the host makes another instance, too
					return
				}
				said := decoded(t, text)
				if h.Kind == abi.KindDaemon && len(our.calls) != requests {
					t.Errorf("the daemon has made %d requests", len(our.calls))
				}
				equal(t, "the requests", decoded(t, encoded(t, their.calls)), decoded(t, encoded(t, our.calls)))
				equal(t, "what was seen", said.(map[string]any)["result"], decoded(t, encoded(t, step)).(map[string]any)["result"])
			})
		}
	}
}

// TestNoVariables shows that a plugin whose manifest says max_var_bytes: 0 cannot set variables, under the SDK and under the
// host.
func TestNoVariables(t *testing.T) {
	wasm := probe(t)
	var manifest extism.Manifest
	if err := json.Unmarshal([]byte(`{"memory":{"max_var_bytes":0}}`), &manifest); err != nil {
		t.Fatal(err)
	}
	theirs, _ := sdkProbe(t, wasm, manifest)
	ours, err := host.Load(t.Context(), "probe", wasm, host.Options{CacheDir: t.TempDir(), PluginVariables: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ours.Close(context.Background()) }) // nothing runs anymore
	for index, h := range ours.Registration().Handlers {
		if h.ID != "variables" {
			continue
		}
		inv := abi.Invocation{Handler: index, Kind: h.Kind, ID: h.ID, Started: "2026-01-01T00:00:00Z", Name: "x", UID: "uid-1"}
		code, _, failed := theirs.Call("kopf_start", input(t, inv))
		_, _, err := ours.Start(t.Context(), &inv, []byte(body), &cluster{})
		if failed == nil && code == 0 || !errors.Is(err, host.ErrMemory) {
			t.Errorf("under the SDK: code %d, %v; under the host: %v", code, failed, err)
		}
		return
	}
	t.Error("the probe has no handler of variables")
}

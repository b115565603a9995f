// Package extism_test runs the plugins of the examples under the Go SDK of Extism and
// under the host of this project, which has functions of its own for plugins (see
// RATIONALE.md): both must lead to the same messages. A probe, which is compiled in the test, compares the kernels themselves: blocks of memory,
// variables, configuration, and daemons.
//
// It is a module of its own, so that no other module requires the SDK.
package extism_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	extism "github.com/extism/go-sdk"
	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host"
)

const body = `{"apiVersion":"kopf.dev/v1","kind":"KopfExample","metadata":{"name":"x","namespace":"default","uid":"uid-1"},"spec":{"field":"välue","other":[{"a":"}"}]}}`

// applied is the answer of the API server to every request.
var applied = abi.Answer{Response: &abi.Response{Status: 200, Body: abi.Raw(`{"metadata":{"name":"x"}}`)}}

func TestPluginsUnderTheSDK(t *testing.T) {
	for _, language := range []string{"rust", "assemblyscript", "c"} {
		t.Run(language, func(t *testing.T) {
			wasm := module(t, language)
			ours, err := host.Load(t.Context(), language, wasm, host.Options{CacheDir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = ours.Close(context.Background()) }) // nothing runs anymore
			theirs := newPlugin(t, wasm)

			registered := theirs.call(t, "kopf_register", []byte(`{"abi":1}`))
			equal(t, "the registration", decoded(t, registered), decoded(t, ours.Registered()))
			for index, h := range ours.Registration().Handlers {
				for retry := range 2 {
					t.Run(fmt.Sprint(h.ID, retry), func(t *testing.T) {
						inv := abi.Invocation{
							Handler: index, Kind: h.Kind, ID: h.ID, Retry: retry, Started: "2026-01-01T00:00:00Z",
							Name: "x", Namespace: "default", UID: "uid-1", Reason: string(h.Kind),
						}
						theirs.calls = nil
						var said abi.Step
						if err := json.Unmarshal(theirs.call(t, "kopf_start", input(t, inv)), &said); err != nil {
							t.Fatal(err)
						}
						step, calls := start(t, ours, &inv)
						equal(t, "the requests", decoded(t, encoded(t, theirs.calls)), decoded(t, encoded(t, calls)))
						equal(t, "the step", decoded(t, encoded(t, said)), decoded(t, encoded(t, step)))
					})
				}
			}
		})
	}
}

// module is the plugin of an example, as `make guests` builds it.
func module(t *testing.T, language string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join("..", "..", ".cache", "guests", "extism-"+language+".wasm"))
	if err != nil && os.Getenv("CI") != "true" {
		t.Skipf("SKIPPED: %v: make guests builds it", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// plugin is a module under the SDK, with the functions of this project that it may import.
type plugin struct {
	*extism.Plugin
	calls []abi.Call
}

func newPlugin(t *testing.T, wasm []byte) *plugin {
	t.Helper()
	p := &plugin{}
	request := extism.NewHostFunctionWithStack("kopf_call", func(_ context.Context, current *extism.CurrentPlugin, stack []uint64) {
		text, err := current.ReadBytes(stack[0])
		var call abi.Call
		if err == nil {
			err = json.Unmarshal(text, &call)
		}
		if err != nil {
			t.Errorf("kopf_call: %v", err)
		}
		p.calls = append(p.calls, call)
		if stack[0], err = current.WriteBytes(encoded(t, applied)); err != nil {
			t.Error(err)
		}
	}, []extism.ValueType{extism.ValueTypePTR}, []extism.ValueType{extism.ValueTypePTR})
	request.SetNamespace("extism:host/user")
	made, err := extism.NewPlugin(t.Context(), extism.Manifest{Wasm: []extism.Wasm{extism.WasmData{Data: wasm}}},
		extism.PluginConfig{EnableWasi: true}, []extism.HostFunction{request})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = made.Close(context.Background()) }) // it is not used anymore
	p.Plugin = made
	return p
}

func (p *plugin) call(t *testing.T, export string, input []byte) []byte {
	t.Helper()
	code, output, err := p.Call(export, input)
	if err != nil || code != 0 {
		t.Fatalf("%s under the SDK: code %d, %v", export, code, err)
	}
	return output
}

// input is an invocation as plugins get it: see abi/SPEC.md, "Plugins of Extism".
func input(t *testing.T, inv abi.Invocation) []byte {
	t.Helper()
	fields := decoded(t, encoded(t, inv)).(map[string]any)
	fields["task"], fields["body"] = 1, json.RawMessage(body)
	return encoded(t, fields)
}

// start runs a handler under the host to its last step.
func start(t *testing.T, m *host.Module, inv *abi.Invocation) (step *abi.Step, calls []abi.Call) {
	t.Helper()
	task, step, err := m.Start(t.Context(), inv, []byte(body), quiet{})
	for err == nil && step.Step == abi.StepCall {
		calls = append(calls, *step.Call)
		step, err = task.Resume(t.Context(), applied)
	}
	if err != nil {
		t.Fatalf("kopf_start under the host: %v", err)
	}
	task.Release(t.Context())
	return step, calls
}

// quiet knows nothing but how to log.
type quiet struct{ host.Env }

func (quiet) Log(int, string)       {}
func (quiet) Segment(uint32) []byte { return nil }
func (quiet) Stopped() int          { return 0 }

func encoded(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func decoded(t *testing.T, text []byte) any {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return value
}

func equal(t *testing.T, what string, theirs, ours any) {
	t.Helper()
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("%s (-SDK +host):\n%s", what, diff)
	}
}

package host

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/guests/extism"
	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// Imports of every plugin of these tests, by their numbers, and those of the test behind them.
const (
	fnAlloc = iota
	fnStore
	fnOutput
	fnFirst
)

var (
	one = []byte{asm.I64}
	two = []byte{asm.I64, asm.I64}
)

// outputOf is code that makes a text the output of the function. It uses the local 0.
func outputOf(text string) []byte {
	code := block64(text)
	return asm.Cat(code, asm.Get(0), asm.I64Const(int64(len(text))), asm.Call(fnOutput))
}

// block64 is code that leaves the offset of a block with the text in the local 0.
func block64(text string) []byte {
	code := asm.Cat(asm.I64Const(int64(len(text))), asm.Call(fnAlloc), asm.Set(0))
	for i := 0; i < len(text); i += 8 {
		word := make([]byte, 8)
		copy(word, text[i:])
		code = asm.Cat(code, asm.Get(0), asm.I64Const(int64(i)), []byte{0x7c}, asm.I64Const(int64(binary.LittleEndian.Uint64(word))), asm.Call(fnStore))
	}
	return code
}

// pluginModule is a plugin whose kopf_start runs the code, which leaves the result.
func pluginModule(start []byte, imports ...asm.Import) asm.Module {
	local := []byte{asm.I64}
	ok := asm.I32Const(0)
	return asm.Module{
		Memory: []uint32{1},
		Imports: append([]asm.Import{
			{Module: extism.EnvModule, Name: "alloc", Params: one, Results: one},
			{Module: extism.EnvModule, Name: "store_u64", Params: two},
			{Module: extism.EnvModule, Name: "output_set", Params: two},
		}, imports...),
		Funcs: []asm.Func{
			{Export: "kopf_register", Results: []byte{asm.I32}, Locals: local, Code: asm.Cat(outputOf(asm.Registration), ok)},
			{Export: "kopf_start", Results: []byte{asm.I32}, Locals: local, Code: start},
		},
	}
}

func env64(name string, params, results []byte) asm.Import {
	return asm.Import{Module: extism.EnvModule, Name: name, Params: params, Results: results}
}

func user64(name string, params []byte) asm.Import {
	return asm.Import{Module: extism.UserModule, Name: name, Params: params, Results: one}
}

// TestPluginWithoutMemory: what a plugin needs may all be the host's.
func TestPluginWithoutMemory(t *testing.T) {
	plugin := pluginModule(asm.Cat(outputOf(asm.Done), asm.I32Const(0)))
	plugin.Memory = []uint32{0}
	m := loadPlugin(t, plugin, time.Minute)
	for range 2 {
		if got := result(t, m, "", &testEnv{}); got != "1" {
			t.Errorf("result = %s", got)
		}
	}
}

func loadPlugin(t *testing.T, module asm.Module, compute time.Duration) *Module {
	t.Helper()
	m, err := Load(context.Background(), "plugin.wasm", module.Encode(), withCache(t, Options{MessageLimit: 1 << 16, ComputeLimit: compute}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

// requestingEnv makes requests.
type requestingEnv struct {
	testEnv
	calls []abi.Call
}

func (e *requestingEnv) Call(_ context.Context, call *abi.Call) abi.Answer {
	e.calls = append(e.calls, *call)
	return abi.Answer{Response: &abi.Response{Status: 201, Headers: map[string][]string{"X-A": {"1"}}, Body: abi.Raw(`"text"`)}}
}

// TestPlugins: what functions of plugins leave, and what becomes of it.
func TestPlugins(t *testing.T) {
	ok := asm.I32Const(0)
	done := asm.Cat(outputOf(asm.Done), ok)
	drop := asm.Drop
	tests := []struct {
		name    string
		start   []byte
		imports []asm.Import
		message string // of the handler's error
		fails   error  // of the guest
	}{
		{"done", done, nil, "", nil},
		{"error code", asm.Cat(outputOf(asm.Done), asm.I32Const(3)), nil, "the function returned 3", nil},
		{
			"error message", asm.Cat(block64("no luck today"), asm.Get(0), asm.Call(fnFirst), asm.I32Const(1)),
			[]asm.Import{env64("error_set", one, nil)},
			"no luck today", nil,
		},
		{"no output", ok, nil, "", ErrMessage},
		{"output that is nowhere", asm.Cat(asm.I64Const(1<<40), asm.I64Const(1<<40), asm.Call(fnOutput), ok), nil, "", ErrMessage},
		{"output with an endless length", asm.Cat(asm.I64Const(16), asm.I64Const(-1), asm.Call(fnOutput), ok), nil, "", ErrMessage},
		{"broken output", asm.Cat(outputOf(`{"step":`), ok), nil, "", ErrMessage},
		{"a wait without resume", asm.Cat(outputOf(`{"step":"wait","seconds":1}`), ok), nil, "", nil},
		{"stores outside", asm.Cat(asm.I64Const(-8), asm.I64Const(1), asm.Call(fnStore), done), nil, "", ErrMemory},
		{"stores at the beginning", asm.Cat(asm.I64Const(0), asm.I64Const(1), asm.Call(fnStore), done), nil, "", ErrMemory},
		{"too large a block", asm.Cat(asm.I64Const(-1), asm.Call(fnAlloc), drop, done), nil, "", ErrMemory},
		{"too many blocks", asm.Cat(loop(asm.I64Const(1), asm.Call(fnAlloc), drop), ok), nil, "", ErrMemory},
		{"endless calls of the host", asm.Cat(loop(asm.I64Const(1), asm.Call(fnFirst), drop), ok), []asm.Import{env64("length", one, one)}, "", ErrCompute},
		{
			"reads of nothing", asm.Cat(
				asm.I64Const(-1), asm.Call(fnFirst), drop, asm.I64Const(1<<50), asm.Call(fnFirst+1), drop,
				asm.I64Const(-9), asm.Call(fnFirst+2), drop, asm.I64Const(3), asm.Call(fnFirst+3), drop, done),
			[]asm.Import{
				env64("load_u64", one, one), env64("load_u8", one, []byte{asm.I32}), env64("input_load_u64", one, one), env64("config_get", one, one),
			},
			"", nil,
		},
		{"a request without a body", asm.Cat(block64(`{"url":"https://x"}`), asm.Get(0), asm.I64Const(0), asm.Call(fnFirst), drop, done), []asm.Import{env64("http_request", two, one)}, "", abi.ErrGuest},
		{"an invalid request", asm.Cat(block64(`{`), asm.Get(0), asm.I64Const(0), asm.Call(fnFirst), drop, done), []asm.Import{env64("http_request", two, one)}, "", ErrMessage},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			compute := time.Minute
			if errors.Is(tt.fails, ErrCompute) {
				compute = time.Second
			}
			m := loadPlugin(t, pluginModule(tt.start, tt.imports...), compute)
			for range 2 { // the second time on a used or on a new instance
				task, step, err := m.Start(context.Background(), invoke("x"), []byte(`{}`), &testEnv{})
				switch {
				case tt.fails != nil:
					if err == nil || !errors.Is(err, tt.fails) || !errors.Is(err, abi.ErrGuest) {
						t.Fatalf("got %v, want %v", err, tt.fails)
					}
					continue
				case err != nil:
					t.Fatal(err)
				case tt.message != "" && (step.Error == nil || step.Error.Message != tt.message || step.Error.Kind != abi.ErrorArbitrary):
					t.Errorf("got %+v, want the error %q", step.Error, tt.message)
				case tt.message == "" && step.Error != nil:
					t.Errorf("got %+v", step.Error)
				}
				task.Release(context.Background())
			}
		})
	}
}

// TestPluginRequests: both ways to make requests lead to the one of the host.
func TestPluginRequests(t *testing.T) {
	t.Parallel()
	code := asm.Cat(
		block64(`{"url":"https://x/y","headers":{"A":"b"}}`), asm.Get(0), asm.I64Const(0), asm.Call(fnFirst), asm.Drop,
		block64(`{"target":"kubernetes","method":"GET","path":"/api/v1/pods"}`), asm.Get(0), asm.Call(fnFirst+1), asm.Drop,
		outputOf(asm.Done), asm.I32Const(0))
	m := loadPlugin(t, pluginModule(code, env64("http_request", two, one), user64("kopf_call", one)), time.Minute)
	env := &requestingEnv{}
	task, _, err := m.Start(context.Background(), invoke("x"), []byte(`{}`), env)
	if err != nil {
		t.Fatal(err)
	}
	task.Release(context.Background())
	want := []abi.Call{
		{Target: "http", Method: "GET", Path: "https://x/y", Headers: map[string][]string{"A": {"b"}}},
		{Target: "kubernetes", Method: "GET", Path: "/api/v1/pods"},
	}
	if diff := cmp.Diff(want, env.calls); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestOtherModulesAreNoPlugins: the host refuses them before any code runs.
func TestOtherModulesAreNoPlugins(t *testing.T) {
	good := pluginModule(asm.I32Const(0))
	wrong := good.With(asm.Func{Export: "kopf_start", Params: one, Results: []byte{asm.I32}, Code: asm.I32Const(0)})
	noMemory := good
	noMemory.Memory = nil
	foreign := good
	foreign.Imports = append(foreign.Imports, asm.Import{Module: "kopf", Name: "log", Params: []byte{asm.I32, asm.I32, asm.I32, asm.I32}})
	ungranted := pluginModule(asm.I32Const(0), user64("open_file", one))
	mixed := asm.Guest(nil)
	mixed.Imports = []asm.Import{env64("alloc", one, one)}
	for name, tt := range map[string]struct {
		module asm.Module
		want   string
	}{
		"no start":          {good.Without("kopf_start"), "not kopf_start"},
		"no register":       {good.Without("kopf_register"), "a plugin of Extism, but not a Kopf guest: it exports kopf_start"},
		"a type":            {wrong, "its export kopf_start has the type (i64) -> i32"},
		"no memory":         {noMemory, "does not export its memory"},
		"functions of kopf": {foreign, "kopf.log, which this host does not provide"},
		"of no host":        {ungranted, "extism:host/user.open_file, which this host does not provide"},
		"plugin functions":  {mixed, "extism:host/env.alloc, which this host does not provide"},
	} {
		_, err := Describe(tt.module.Encode())
		if !errors.Is(err, ErrModule) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

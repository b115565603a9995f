package host

import (
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// livingEnv is the Env of a daemon that is to stop after some questions about that.
type livingEnv struct {
	testEnv
	waits int
}

func (e *livingEnv) Stopped() int {
	if e.waits--; e.waits < 0 {
		return abi.StopOperatorExiting
	}
	return 0
}

// pluginDaemon repeats code and waits a millisecond until it is to stop. The code may use the import 3.
func pluginDaemon(code []byte) asm.Module {
	const wait = fnFirst + 1
	start := asm.Cat(
		asm.Loop, code,
		asm.I64Const(1), asm.Call(wait), []byte{0x50}, asm.BrIf(0), // i64.eqz: it is not to stop yet
		asm.End,
		outputOf(asm.Done), asm.I32Const(0))
	return pluginModule(start, env64("free", one, nil), user64("kopf_wait", one))
}

// livesOn runs a daemon until it has waited so often, and returns how long that took.
func livesOn(t *testing.T, g asm.Module, o Options, waits int) time.Duration {
	t.Helper()
	m, err := load(t, g.Encode(), o)
	if err != nil {
		t.Fatal(err)
	}
	env := &livingEnv{waits: waits}
	began := time.Now()
	task, step, err := m.Start(t.Context(), invoke(""), nil, env)
	if err != nil || step.Step != abi.StepDone {
		t.Fatalf("%v with %d waits to come: %v", step, env.waits, err)
	}
	task.Release(t.Context())
	return time.Since(began)
}

// TestDaemonsOfPluginsReuseMemory: one that frees what it allocates lives for ever on little memory.
func TestDaemonsOfPluginsReuseMemory(t *testing.T) {
	code := asm.Cat(asm.I64Const(32<<10), asm.Call(fnAlloc), asm.Call(fnFirst))
	livesOn(t, pluginDaemon(code), Options{MessageLimit: 1 << 16, PluginResponse: 1 << 18}, 500) // of 16 MiB in all
}

// TestDaemonsOfPluginsComputeInSteps: the limit of computing is one of the time between two waits.
func TestDaemonsOfPluginsComputeInSteps(t *testing.T) {
	spin := asm.Cat(asm.I64Const(10_000_000), asm.Set(0), asm.Loop,
		asm.Get(0), asm.I64Const(1), []byte{0x7d}, asm.Set(0), // i64.sub
		asm.Get(0), []byte{0x50, 0x45}, asm.BrIf(0), asm.End) // not zero
	const steps = 50
	step := livesOn(t, pluginDaemon(spin), Options{ComputeLimit: time.Hour}, steps) / steps
	limit := 10*step + 200*time.Millisecond
	livesOn(t, pluginDaemon(spin), Options{ComputeLimit: limit}, int(4*limit/step)) // four times the limit in all
}

// TestInitializersOfPlugins: those of Haskell have two, others one.
func TestInitializersOfPlugins(t *testing.T) {
	const ready = 0x600
	flag := func(at uint32, params ...byte) asm.Func {
		return asm.Func{Params: params, Code: asm.Cat(asm.I32Const(int32(at)), asm.I32Const(ready), []byte{0x36, 2, 0})} // i32.store
	}
	named := func(name string, f asm.Func) asm.Func {
		f.Export = name
		return f
	}
	for name, tt := range map[string]struct {
		exports []asm.Func
		called  []uint32
	}{
		"both": {[]asm.Func{named("_initialize", flag(64)), named("hs_init", flag(128, asm.I32, asm.I32)), named("__wasm_call_ctors", flag(192))}, []uint32{64, 128}},
		"one":  {[]asm.Func{named("_initialize", flag(64)), named("__wasm_call_ctors", flag(192))}, []uint32{64}},
		"old":  {[]asm.Func{named("__wasm_call_ctors", flag(192))}, []uint32{192}},
		"only": {[]asm.Func{named("hs_init", flag(128, asm.I32, asm.I32))}, []uint32{128}},
		"none": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := pluginModule(asm.Cat(outputOf(asm.Done), asm.I32Const(0)))
			g.Funcs = append(g.Funcs, tt.exports...)
			m, err := load(t, g.Encode(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			task, _, err := m.Start(t.Context(), invoke(""), nil, &testEnv{})
			if err != nil {
				t.Fatal(err)
			}
			defer task.Release(t.Context())
			var called []uint32
			for _, at := range []uint32{64, 128, 192} {
				if v, _ := task.in.mod.Memory().ReadUint32Le(at); v == ready {
					called = append(called, at)
				}
			}
			if len(called) != len(tt.called) || len(called) > 0 && (called[0] != tt.called[0] || called[len(called)-1] != tt.called[len(called)-1]) {
				t.Errorf("called: %v, want %v", called, tt.called)
			}
		})
	}
}

package prepare

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/kopf-wasm/kopf/host/internal/asm"
)

var testLimits = Limits{MemoryPages: 4096}

// outcome is all that can be seen of a run.
type outcome struct {
	Results []uint64
	Trap    string
	Memory  string
	yields  int
}

// errSpent ends a run that yields too often.
var errSpent = errors.New("spent")

// runner runs one module, original or prepared.
type runner struct {
	rt     wazero.Runtime
	mod    api.Module
	yields int
	max    int // yields that are allowed
}

func newRunner(t testing.TB, interpreted bool) *runner {
	ctx := context.Background()
	config := wazero.NewRuntimeConfig()
	if interpreted {
		config = wazero.NewRuntimeConfigInterpreter()
	}
	r := &runner{rt: wazero.NewRuntimeWithConfig(ctx, config.WithMemoryLimitPages(testLimits.MemoryPages)), max: 1000}
	t.Cleanup(func() { r.rt.Close(ctx) })
	yield := func() int64 {
		if r.yields++; r.yields > r.max {
			panic(errSpent)
		}
		return Budget
	}
	if _, err := r.rt.NewHostModuleBuilder(HostModule).NewFunctionBuilder().WithFunc(yield).Export(Yield).Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	return r
}

// original runs a module that is not prepared.
func (r *runner) original(wasm []byte) (err error) {
	r.mod, err = r.rt.InstantiateWithConfig(context.Background(), wasm, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	return err
}

// prepared prepares a module and does what the host has to do then.
func (r *runner) prepared(wasm []byte) error {
	p, err := prepared(wasm)
	if err != nil {
		return err
	}
	if err := r.original(p.Wasm); err != nil {
		return err
	}
	for _, d := range p.Data {
		if !r.mod.Memory().Write(d.Offset, d.Bytes) {
			return errors.New("data outside")
		}
	}
	if start := r.mod.ExportedFunction(Start); start != nil {
		_, err = start.Call(context.Background())
	}
	return err
}

func prepared(wasm []byte) (*Prepared, error) { return prepareBy(wasm, testLimits) }

// call calls an export.
func (r *runner) call(export string, args ...uint64) outcome {
	results, err := r.mod.ExportedFunction(export).Call(context.Background(), args...)
	out := outcome{Results: results, yields: r.yields}
	if mem := r.mod.Memory(); mem != nil {
		view, _ := mem.Read(0, mem.Size())
		out.Memory = string(view)
	}
	if err != nil {
		out.Trap, _, _ = strings.Cut(err.Error(), "\n")
	}
	return out
}

// both runs an export of a module, original and prepared.
func both(t testing.TB, m asm.Module, export string, args ...uint64) (original, rewritten outcome) {
	t.Helper()
	wasm := m.Encode()
	a, b := newRunner(t, false), newRunner(t, false)
	if err := a.original(wasm); err != nil {
		t.Fatalf("original: %v", err)
	}
	if err := b.prepared(wasm); err != nil {
		t.Fatalf("prepared: %v", err)
	}
	return a.call(export, args...), b.call(export, args...)
}

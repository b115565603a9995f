//go:build interop

package tinygo_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

const (
	deepGuest = "../../guest-sdks/go/internal/jsonlite/testdata/deep"

	stackSize = 64 << 10          // of a goroutine, by default
	share     = stackSize * 5 / 8 // of it that a value may take: handlers need some, too
	certain   = 29                // levels that are taken whatever they are of
	painted   = 2 << 20
	paint     = 0xA5
)

// TestDeepestValueLeavesRoom decodes and encodes values of more levels than are allowed, each way
// down, and finds how much of the stack was written to: TinyGo does not stop a stack that grows
// into other memory.
func TestDeepestValueLeavesRoom(t *testing.T) {
	for _, opt := range []string{"0", "2", "z"} {
		t.Run("opt="+opt, func(t *testing.T) {
			m := newMeter(t, "-opt="+opt, "-stack-size=3MB")
			for way := range m.call("ways") {
				for _, levels := range []uint64{10, 20, 29, 40, 59, 1000} {
					for _, encode := range []uint64{0, 1} {
						m.call("run", way, levels, encode)
						if m.used > share {
							t.Errorf("way %d, %d levels, encode %d: %d bytes of the stack, want at most %d", way, levels, encode, m.used, share)
						}
						if encode == 0 && (levels <= certain && m.failed || levels == 1000 && !m.failed) {
							t.Errorf("way %d, %d levels: refused %v", way, levels, m.failed)
						}
						if m.most < m.used {
							m.most = m.used
						}
					}
				}
			}
			t.Logf("at most %d bytes of %d", m.most, stackSize)
		})
	}
}

// TestDeepestValueOnAStack does the same on stacks as modules have them by default.
func TestDeepestValueOnAStack(t *testing.T) {
	m := newMeter(t)
	for way := range m.call("ways") {
		for _, levels := range []uint64{10, 20, 29, 40, 59, 1000} {
			m.call("run", way, levels, 0)
			m.call("run", way, levels, 1)
		}
	}
}

// meter runs a module, and finds how deep its stack was.
type meter struct {
	t      *testing.T
	module api.Module
	top    uint32 // of the painted part of the stack; 0: nothing is painted
	used   int    // bytes, in the last run
	most   int
	failed bool // the last run ended with an error
	paints bool
}

func newMeter(t *testing.T, flags ...string) *meter {
	t.Helper()
	ctx := t.Context()
	runtime := wazero.NewRuntime(ctx)
	t.Cleanup(func() { _ = runtime.Close(context.WithoutCancel(ctx)) })
	wasi_snapshot_preview1.MustInstantiate(ctx, runtime)
	m := &meter{t: t, paints: len(flags) > 0}
	_, err := runtime.NewHostModuleBuilder("test").
		NewFunctionBuilder().WithFunc(m.begin).Export("begin").
		NewFunctionBuilder().WithFunc(m.end).Export("end").
		Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	m.module, err = runtime.InstantiateWithConfig(ctx, build(t, deepGuest, flags...),
		wazero.NewModuleConfig().WithStdout(os.Stderr).WithStderr(os.Stderr).WithStartFunctions("_initialize"))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// call calls an export, which must not trap, and returns its result; 0 if it has none.
func (m *meter) call(name string, args ...uint64) uint64 {
	m.t.Helper()
	results, err := m.module.ExportedFunction(name).Call(m.t.Context(), args...)
	if err != nil {
		m.t.Fatalf("%s%v: %v", name, args, err)
	}
	if len(results) == 0 {
		return 0
	}
	return results[0]
}

// begin paints what is below the stack pointer.
func (m *meter) begin(_ context.Context, module api.Module) {
	if !m.paints {
		return
	}
	m.top = uint32(module.ExportedGlobal("__stack_pointer").Get())
	for i := range m.stack(module) {
		m.stack(module)[i] = paint
	}
}

// end looks for the deepest byte that was written to.
func (m *meter) end(_ context.Context, module api.Module, failed uint32) {
	m.failed = failed != 0
	if !m.paints {
		return
	}
	m.used = 0
	for i, b := range m.stack(module) {
		if b != paint {
			m.used = painted - i
			break
		}
	}
}

func (m *meter) stack(module api.Module) []byte {
	stack, ok := module.Memory().Read(m.top-painted, painted)
	if !ok {
		m.t.Fatal("the stack is not in the memory")
	}
	return stack
}

// build builds a module with TinyGo, and returns it.
func build(t *testing.T, folder string, flags ...string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "guest.wasm")
	args := append([]string{
		"build", "-target=wasip1", "-buildmode=c-shared", "-no-debug",
		`-ldflags=-extldflags "--export=__stack_pointer"`, "-o", out,
	}, flags...)
	cmd := exec.Command("tinygo", append(args, ".")...)
	cmd.Dir = folder
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(fmt.Errorf("tinygo: %w\n%s", err, text))
	}
	module, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return module
}

package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/host/compiler"
	"github.com/kopf-wasm/kopf/host/internal/asm"
	"github.com/kopf-wasm/kopf/host/prepare"
)

// compilesFor is a guest that passes the estimate, and takes the compiler seconds.
func compilesFor() []byte { return asm.Guest(nil, nestedIfs(14_000, 100)).Encode() }

func TestCompileBombs(t *testing.T) {
	if !compiler.Offered() {
		t.Skip("no limits for processes on this system")
	}
	neighbour := loadSmall(t)
	const want = "op.wasm: module refused: over a limit: too complex: compiling it takes more than 1s of computing"
	withNeighbour(t, neighbour, func() {
		_, err := load(t, compilesFor(), Options{CompileTime: time.Second})
		if err == nil || err.Error() != want || !errors.Is(err, ErrModule) {
			t.Errorf("error = %v, want %q", err, want)
		}
	})
}

func TestLoadingEndsWithItsContext(t *testing.T) {
	if !compiler.Offered() {
		t.Skip("no processes on this system")
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("enough"))
	defer cancel()
	_, err := Load(ctx, "op.wasm", compilesFor(), withCache(t, Options{}))
	if err == nil || errors.Is(err, ErrModule) || !strings.Contains(err.Error(), "op.wasm: compiling: enough") {
		t.Errorf("error = %v", err)
	}
}

// TestCompilerWithoutMemory: however it dies, the module is refused.
func TestCompilerWithoutMemory(t *testing.T) {
	if !compiler.Offered() {
		t.Skip("no limits for processes on this system")
	}
	for range 10 {
		if _, err := load(t, asm.Guest(nil).Encode(), Options{CacheDir: CacheOff, CompileMemory: 1}); !errors.Is(err, ErrModule) {
			t.Fatalf("error = %v", err)
		}
	}
}

// TestCompilingWithoutWritableFiles shows that the host compiles a module in its own process if no file can be written.
func TestCompilingWithoutWritableFiles(t *testing.T) {
	wasm := asm.Guest(nil).Encode()
	m := bare(t, wasm)
	if err := m.translateHere(t.Context(), compiler.Job{Original: wasm, MemoryPages: 16}); err != nil {
		t.Fatal(err)
	}
	if err := m.first(t.Context()); err != nil {
		t.Fatal(err)
	}
	result(t, m, "", &testEnv{})
	job := compiler.Job{Original: asm.Guest(asm.I32Add).Encode(), MemoryPages: 16}
	if err := bare(t, wasm).translateHere(t.Context(), job); !errors.Is(err, ErrModule) {
		t.Errorf("an invalid module: %v", err)
	}
}

// bare returns a module that is not prepared and not compiled yet.
func bare(tb testing.TB, wasm []byte) *Module {
	tb.Helper()
	m := &Module{name: "bare.wasm", options: Options{}.withDefaults()}
	m.openOutput()
	m.pool = newPool(&m.options)
	m.newGuest = standardKind.guests(&m.options)
	m.prepared = &prepare.Prepared{Wasm: wasm, MinPages: 64}
	tb.Cleanup(func() {
		if m.machine != nil {
			m.Close(context.Background())
		}
	})
	return m
}

// TestMachineCodeThatTheEngineRefuses shows that the module is at fault if what the compiler has
// left cannot be loaded, and that it does not stay in the cache.
func TestMachineCodeThatTheEngineRefuses(t *testing.T) {
	dir, wasm := t.TempDir(), asm.Guest(nil).Encode()
	m := bare(t, wasm)
	var err error
	if m.prepared.Shell, err = prepare.Shell(wasm); err != nil {
		t.Fatal(err)
	}
	job := compiler.Job{Dir: dir, Original: wasm, Prepared: wasm, MemoryPages: m.limits().MemoryPages}
	file, err := compiler.Here(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, file)
	if err := os.WriteFile(path, []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	err = m.loadCompiled(t.Context(), dir, file)
	if !errors.Is(err, ErrModule) || !errors.Is(err, compiler.ErrCrash) {
		t.Errorf("error = %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the machine code is still there: %v", err)
	}
	if err := m.loadCompiled(t.Context(), dir, file); err == nil || errors.Is(err, ErrModule) {
		t.Errorf("without machine code: %v", err)
	}
}

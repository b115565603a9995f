package compiler

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/kopf-wasm/kopf/host/internal/asm"
	"github.com/kopf-wasm/kopf/host/prepare"
)

// compromise does nothing, or what a compiler would do that a module has taken over.
var compromise = func() {}

func TestMain(m *testing.M) {
	compromise()
	Main()
	os.Exit(m.Run())
}

// job is a job with generous limits.
func job(t *testing.T, wasm []byte) Job {
	t.Helper()
	return Job{Dir: t.TempDir(), Original: wasm, Prepared: wasm, MemoryPages: 16, Time: time.Minute, Memory: 1 << 30}
}

// load loads what was compiled, and nothing else.
func load(t *testing.T, job Job) error {
	t.Helper()
	cache, err := wazero.NewCompilationCacheWithDir(job.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close(t.Context())
	rt := wazero.NewRuntimeWithConfig(t.Context(), Config(job.MemoryPages).WithCompilationCache(cache))
	defer rt.Close(t.Context())
	shell, err := prepare.Shell(job.Prepared)
	if err != nil {
		t.Fatal(err)
	}
	_, err = rt.CompileModule(OnlyCached(t.Context()), shell)
	return err
}

func TestCompiledIsLoaded(t *testing.T) {
	for name, compile := range map[string]func(context.Context, Job) (string, error){"here": Here, "apart": Apart} {
		t.Run(name, func(t *testing.T) {
			job := job(t, asm.Guest(nil).Encode())
			if err := load(t, job); !errors.Is(err, context.Canceled) {
				t.Fatalf("before it was compiled: %v", err)
			}
			if _, err := compile(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			if err := load(t, job); err != nil {
				t.Error(err)
			}
			breakAll(t, job.Dir)
			if err := load(t, job); err == nil {
				t.Fatal("a broken cache is loaded")
			}
			if _, err := compile(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			if err := load(t, job); err != nil {
				t.Error(err)
			}
		})
	}
}

// breakAll cuts all files of the cache.
func breakAll(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "wazero-*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files in the cache, error %v", len(files), err)
	}
	for _, file := range files {
		if err := os.Truncate(file, 20); err != nil {
			t.Fatal(err)
		}
	}
}

func TestInvalidModules(t *testing.T) {
	for name, compile := range map[string]func(context.Context, Job) (string, error){"here": Here, "apart": Apart} {
		t.Run(name, func(t *testing.T) {
			_, err := compile(t.Context(), job(t, asm.Guest(asm.I32Add).Encode()))
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "i32.add") || strings.Contains(err.Error(), "\n") {
				t.Errorf("error = %v", err)
			}
		})
	}
}

// bomb is a module that takes the compiler many seconds: time in the square of the
// blocks, and memory in their product with the locals.
func bomb(blocks, locals int) []byte {
	var code []byte
	for i := range blocks {
		code = append(code, asm.Cat(asm.Get(uint32(i%locals)), asm.If, asm.I32Const(int32(i)), asm.Set(uint32(i*7%locals)))...)
	}
	return asm.Guest(nil, asm.Func{Locals: asm.Repeat(locals, asm.I32), Code: append(code, asm.Repeat(blocks, 0x0b)...)}).Encode()
}

// manyLocals is a module of so many functions that only have local variables.
func manyLocals(functions int) []byte {
	body := asm.Sized(asm.Cat([]byte{1}, asm.U32(50_000), []byte{asm.I32, 0x0b}))
	bodies, types := make([][]byte, functions), make([][]byte, functions)
	for i := range bodies {
		bodies[i], types[i] = body, []byte{0}
	}
	return asm.Cat([]byte("\x00asm\x01\x00\x00\x00"), asm.Section(1, asm.Vector([][]byte{asm.Type(nil, nil)})),
		asm.Section(3, asm.Vector(types)), asm.Section(10, asm.Vector(bodies)))
}

func TestLimits(t *testing.T) {
	if !Offered() {
		t.Skip("no limits for processes on this system")
	}
	loops := asm.Guest(nil, asm.Func{Code: asm.Repeat(125_000, asm.Cat(asm.Loop, asm.I32Const(0), asm.BrIf(0), asm.End)...)}).Encode()
	for _, test := range []struct {
		name   string
		wasm   []byte
		time   time.Duration
		memory int
		want   string
	}{
		{"200 KB of nested ifs over 100 locals", bomb(25_000, 100), time.Second, 4 << 30, "compiling it takes more than 1s of computing"},
		{"a megabyte of loops", loops, time.Second, 4 << 30, "compiling it takes more than 1s of computing"},
		{"8 KB of functions with 50,000 locals", manyLocals(1000), time.Minute, 128 << 20, "compiling it takes more than 128 MiB of memory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if raceDetector && test.memory < 1<<30 {
				t.Skip("the race detector takes more memory than that by itself")
			}
			job := job(t, test.wasm)
			job.Time, job.Memory = test.time, test.memory
			_, err := Apart(t.Context(), job)
			if !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want %q", err, test.want)
			}
		})
	}
}

func TestContextEndsTheCompiler(t *testing.T) {
	if !Offered() {
		t.Skip("no limits for processes on this system")
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errors.New("enough"))
	defer cancel()
	_, err := Apart(ctx, job(t, bomb(25_000, 100)))
	if err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("error = %v", err)
	}
}

func TestEndedContext(t *testing.T) {
	if !Offered() {
		t.Skip("no limits for processes on this system")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := Apart(ctx, job(t, bomb(1, 1))); err == nil || err.Error() != "compiling: enough" {
		t.Errorf("error = %v", err)
	}
}

func TestReceiveRefuses(t *testing.T) {
	for name, args := range map[string][]string{
		"too few":     {"dir"},
		"not numbers": {"dir", "1", "x", "1"},
	} {
		var said strings.Builder
		if code := child(args, strings.NewReader(""), io.Discard, &said); code != 1 || said.Len() == 0 {
			t.Errorf("%s: exit code %d, %q", name, code, &said)
		}
	}
}

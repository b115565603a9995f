package host

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// TestMemoryExhaustionIsNamed: Python is in TestPythonAttacks, and Rust in test/guests/rust.
func TestMemoryExhaustionIsNamed(t *testing.T) {
	const want = "out of memory: the instance uses "
	t.Run("Go", func(t *testing.T) {
		m := loadGo(t, Options{MaxMemory: 16 << 20})
		_, _, err := m.Start(t.Context(), invoke("eat"), nil, &testEnv{})
		var failure *GuestError
		if !errors.As(err, &failure) || !errors.Is(err, ErrMemory) || !errors.Is(err, ErrTrap) {
			t.Fatalf("error = %v", err)
		}
		if !strings.HasPrefix(failure.Message, want) || !strings.HasSuffix(failure.Message, ", and the limit MaxMemory is 16.0 MiB: fatal error: out of memory") {
			t.Error(failure.Message)
		}
	})
	t.Run("JavaScript", func(t *testing.T) {
		engine, err := os.ReadFile("../bin/engines/javascript.wasm")
		if errors.Is(err, fs.ErrNotExist) && os.Getenv("CI") != "true" {
			t.Skip("SKIPPED: no engine of JavaScript: `make engines` builds it, or says what is missing")
		}
		if err != nil {
			t.Fatal(err)
		}
		for name, body := range map[string]string{
			"large values":              `function fn() { const all = []; for (;;) all.push(new Array(100_000).fill(7)); }`,
			"small values":              `function fn() { const all = []; for (;;) all.push({}); }`,
			"warnings that are kept":    `async function fn(k) { for (;;) k.warnings.push("w".repeat(1000)); }`,
			"a patch that is kept":      `async function fn(k) { k.patch.spec.all = []; for (;;) k.patch.spec.all.push({}); }`,
			"values that all know":      `async function fn() { globalThis.all = []; for (;;) all.push({}); }`,
			"numbers that all know":     `async function fn() { globalThis.all = []; for (;;) all.push(0.5); }`,
			"promises":                  `async function fn() { globalThis.all = []; for (;;) all.push(Promise.resolve().then(() => {})); }`,
			"promises that never end":   `async function fn() { globalThis.all = []; await Promise.all((function* () { for (;;) yield new Promise((resolve) => all.push(resolve)); })()); }`,
			"a function that continues": `async function fn() { globalThis.all = []; for (;;) all.push(await Promise.resolve({})); }`,
			"an error that is large":    `async function fn() { globalThis.all = []; try { for (;;) all.push({}); } catch { throw new Error("x".repeat(1e6)); } }`,
		} {
			t.Run(name, func(t *testing.T) {
				m := loaded(t, "op.js", engine, Options{MaxMemory: 64 << 20, ComputeLimit: time.Minute, Config: map[string]string{"KOPF_SCRIPT": `kopf.on.create("kopfexamples", ` + body + `);`, "KOPF_SCRIPT_NAME": "op.js"}})
				task, step, err := m.Start(t.Context(), &abi.Invocation{Kind: abi.KindCreate, ID: "fn", Name: "obj1"}, []byte(`{"metadata":{"name":"obj1"}}`), &testEnv{})
				var failure *GuestError
				if errors.As(err, &failure) {
					if !errors.Is(err, ErrMemory) || !strings.HasPrefix(failure.Message, want) {
						t.Errorf("error = %v", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				defer task.Release(t.Context())
				if step.Error == nil || !strings.HasPrefix(step.Error.Message, want) {
					t.Errorf("step = %s, error %+v", step.Step, step.Error)
				}
			})
		}
	})
}

// TestRefusedMemoryIsNamed: in any language, if the instance traps without the memory that it has
// asked for last.
func TestRefusedMemoryIsNamed(t *testing.T) {
	t.Parallel()
	grow := func(pages int32) []byte { return asm.Cat(asm.I32Const(pages), asm.MemoryGrow, asm.Drop) }
	for name, tt := range map[string]struct {
		code  []byte
		o     Options
		wants string // of the message; empty: memory is not named
	}{
		"over MaxMemory":                {grow(32), Options{MaxMemory: 16 * wasmPage}, "out of memory: the instance uses 0.1 MiB, asks for 2.0 MiB more, and the limit MaxMemory is 1.0 MiB: trapped: unreachable"},
		"after a success":               {asm.Cat(grow(1), grow(32)), Options{MaxMemory: 16 * wasmPage}, "out of memory: the instance uses 0.1 MiB, asks for 2.0 MiB more"},
		"over InstanceMemory":           {grow(32), Options{InstanceMemory: 16 * wasmPage}, "and the limit MaxMemory is 256.0 MiB; all instances together have reached the limit InstanceMemory, or the operators of the namespace or the system get no more: trapped: unreachable"},
		"in a function of the module":   {asm.Cat(asm.I32Const(32), asm.MemoryGrow, asm.I32Const(-1), []byte{0x46}, asm.If, asm.Unreachable, asm.End), Options{MaxMemory: 16 * wasmPage}, "out of memory: "},
		"no request":                    {nil, Options{}, ""},
		"a fulfilled request":           {grow(1), Options{}, ""},
		"a fulfilled one after another": {asm.Cat(grow(32), grow(1)), Options{MaxMemory: 16 * wasmPage}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := load(t, asm.Guest(asm.Cat(tt.code, asm.Unreachable)).Encode(), tt.o)
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = m.Start(t.Context(), invoke(""), nil, &testEnv{})
			var failure *GuestError
			if !errors.As(err, &failure) || !errors.Is(err, ErrTrap) || errors.Is(err, ErrMemory) != (tt.wants != "") {
				t.Fatalf("error = %v", err)
			}
			if !strings.Contains(failure.Message, tt.wants) {
				t.Errorf("message %q, want %q", failure.Message, tt.wants)
			}
		})
	}
}

// TestErrorsOfAuthorsAreNotTakenForExhaustion: only the types of the languages count, and only in
// errors that are not on purpose.
func TestErrorsOfAuthorsAreNotTakenForExhaustion(t *testing.T) {
	for _, e := range []abi.Error{
		{Kind: abi.ErrorPermanent, Type: "MemoryError", Message: "x"},
		{Kind: abi.ErrorArbitrary, Type: "InternalError", Message: "interrupted"},
		{Kind: abi.ErrorArbitrary, Type: "ValueError", Message: "out of memory"},
		{Kind: abi.ErrorPermanent, Type: "Error", Message: "null"},
	} {
		before := e.Message
		if (&call{}).nameCaught(&e); e.Message != before {
			t.Errorf("%+v", e)
		}
	}
}

func TestStacksShowTheFramesOfTheAuthor(t *testing.T) {
	for _, full := range []bool{false, true} {
		m := loadGo(t, Options{FullStacks: full})
		_, _, err := m.Start(t.Context(), invoke("panic"), nil, &testEnv{})
		var failure *GuestError
		if !errors.As(err, &failure) {
			t.Fatalf("error = %v", err)
		}
		folded := strings.Contains(failure.Stack, " frames of the SDK") && !strings.Contains(failure.Stack, ".runtime.")
		if folded == full || !strings.Contains(failure.Stack, "main.run(") {
			t.Errorf("full = %v:\n%s", full, failure.Stack)
		}
	}
}

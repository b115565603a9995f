package host

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
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
		const script = `kopf.on.create("kopfexamples", function fn() { const all = []; for (;;) all.push(new Array(100_000).fill(7)); });`
		m := loaded(t, "op.js", engine, Options{MaxMemory: 64 << 20, Config: map[string]string{"KOPF_SCRIPT": script, "KOPF_SCRIPT_NAME": "op.js"}})
		task, step, err := m.Start(t.Context(), &abi.Invocation{Kind: abi.KindCreate, ID: "fn", Name: "obj1"}, []byte(`{"metadata":{"name":"obj1"}}`), &testEnv{})
		if err != nil {
			t.Fatal(err)
		}
		defer task.Release(t.Context())
		if step.Error == nil || !strings.HasPrefix(step.Error.Message, want) {
			t.Errorf("step = %+v", step)
		}
	})
}

// TestErrorsOfAuthorsAreNotTakenForExhaustion: only the types of the languages count, and only in
// errors that are not on purpose.
func TestErrorsOfAuthorsAreNotTakenForExhaustion(t *testing.T) {
	for _, e := range []abi.Error{
		{Kind: abi.ErrorPermanent, Type: "MemoryError", Message: "x"},
		{Kind: abi.ErrorArbitrary, Type: "InternalError", Message: "interrupted"},
		{Kind: abi.ErrorArbitrary, Type: "ValueError", Message: "out of memory"},
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

// Package rust runs a guest that was written in Rust from abi/SPEC.md alone,
// without an SDK: the proof that the specification is enough.
package rust

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host"
)

// module is what scripts/rust-wasm.sh builds, as `make guests` does.
const module = "../../../.cache/guests/rust-minimal.wasm"

// load loads the guest. Without Rust there is none: then the tests are skipped,
// but never in CI.
func load(t *testing.T) *host.Module {
	t.Helper()
	return loadWith(t, host.Options{})
}

func loadWith(t *testing.T, o host.Options) *host.Module {
	t.Helper()
	wasm, err := os.ReadFile(module)
	if errors.Is(err, os.ErrNotExist) && os.Getenv("CI") != "true" {
		t.Skip("SKIPPED: the Rust guest is not built. `make guests` builds it, or says what is missing")
	}
	if err != nil {
		t.Fatal(err)
	}
	o.CacheDir = t.TempDir()
	m, err := host.Load(context.Background(), "rust-minimal.wasm", wasm, o)
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

// env keeps what the guest logs; it answers no other questions.
type env struct{ lines []string }

func (e *env) Log(level int, message string) {
	e.lines = append(e.lines, fmt.Sprintf("%d %s", level, message))
}
func (e *env) Segment(uint32) []byte                                 { return nil }
func (e *env) Stopped() int                                          { return 0 }
func (e *env) Event(abi.Event) error                                 { return abi.ErrDenied }
func (e *env) MemoGet(int, string) ([]byte, uint64, bool)            { return nil, 0, false }
func (e *env) MemoSet(int, string, []byte, int64) (uint64, error)    { return 0, abi.ErrDenied }
func (e *env) Index(op int, name string, key []byte) ([]byte, error) { return nil, abi.ErrAbsent }

// create calls the handler for an object with this spec.
func create(t *testing.T, m *host.Module, e *env, retry int, spec string) (*host.Task, *abi.Step, error) {
	t.Helper()
	inv := &abi.Invocation{Kind: abi.KindCreate, ID: "create_fn", Reason: "create", Retry: retry, Name: "obj1", Namespace: "ns1"}
	body := fmt.Appendf(nil, `{"metadata":{"name":"obj1","namespace":"ns1"},"spec":%s}`, spec)
	task, step, err := m.Start(context.Background(), inv, body, e)
	if task != nil {
		t.Cleanup(func() { task.Release(context.Background()) })
	}
	return task, step, err
}

func TestRegistration(t *testing.T) {
	got := load(t).Registration()
	want := &abi.Registration{
		SDK:      "none",
		Operator: abi.OperatorInfo{Name: "rust-minimal", Version: "0.1.0"},
		Handlers: []abi.Handler{{
			Kind: abi.KindCreate, ID: "create_fn", Fn: "handlers::create_fn",
			Resource: &abi.Selector{Args: []abi.Raw{abi.Raw(`"kopf.dev"`), abi.Raw(`"v1"`), abi.Raw(`"kopfexamples"`)}},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("registration (-want +got):\n%s", diff)
	}
}

func TestCreate(t *testing.T) {
	greeting := func(retry int) abi.Outcome {
		return abi.Outcome{
			Result: abi.Raw(fmt.Sprintf(`{"message":"hello, obj1","retry":%d}`, retry)),
			Patch:  abi.Raw(`{"status":{"greeted":true}}`),
		}
	}
	tests := []struct {
		name  string
		spec  string
		retry int
		want  abi.Outcome
		lines []string
	}{
		{"a success", `{}`, 0, greeting(0), []string{"20 obj1 is created"}},
		{"a temporary error", `{"fail":"temporary"}`, 0, abi.Outcome{
			Error: &abi.Error{Kind: abi.ErrorTemporary, Message: "not yet", Delay: abi.DelayOf(1)},
		}, nil},
		{"a success after a temporary error", `{"fail":"temporary"}`, 1, greeting(1), []string{"20 obj1 is created"}},
		{"a permanent error", `{"fail":"permanent"}`, 3, abi.Outcome{
			Error: &abi.Error{Kind: abi.ErrorPermanent, Message: "never"},
		}, nil},
	}
	m := load(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := &env{}
			_, step, err := create(t, m, e, tt.retry, tt.spec)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&abi.Step{Step: abi.StepDone, Outcome: tt.want}, step); diff != "" {
				t.Errorf("step (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.lines, e.lines); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}

// A panic is an error with the guest's own words, and harms no other call.
func TestPanic(t *testing.T) {
	m, e := load(t), &env{}
	_, _, err := create(t, m, e, 0, `{"fail":"panic"}`)
	var failure *host.GuestError
	if !errors.As(err, &failure) || !errors.Is(err, abi.ErrGuest) {
		t.Fatalf("error = %v, want a GuestError", err)
	}
	if want := "the spec of obj1 wants a panic"; failure.Message != want {
		t.Errorf("message = %q, want %q", failure.Message, want)
	}
	if diff := cmp.Diff([]string{"50 the spec of obj1 wants a panic"}, e.lines); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if _, step, err := create(t, m, &env{}, 0, `{}`); err != nil || step.Error != nil {
		t.Errorf("after the panic: %+v, %v", step, err)
	}
}

func TestWait(t *testing.T) {
	tests := []struct {
		name    string
		answer  abi.Answer
		message string // of the error; empty: a success
	}{
		{"until the time", abi.Answer{}, ""},
		{"until cancelled", abi.Answer{Cancelled: true}, "cancelled while it waited"},
	}
	m := load(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			task, step, err := create(t, m, &env{}, 0, `{"wait":0.5}`)
			if err != nil {
				t.Fatal(err)
			}
			seconds := 0.5
			if diff := cmp.Diff(&abi.Step{Step: abi.StepWait, Seconds: &seconds}, step); diff != "" {
				t.Fatalf("step (-want +got):\n%s", diff)
			}
			if tt.answer.Cancelled {
				if err := task.Cancel(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
			step, err = task.Resume(context.Background(), tt.answer)
			if err != nil {
				t.Fatal(err)
			}
			message := ""
			if step.Error != nil {
				message = step.Error.Message
			}
			if step.Step != abi.StepDone || message != tt.message {
				t.Errorf("step = %+v, want an end with the error %q", step, tt.message)
			}
		})
	}
}

// TestHostile: whatever a handler does, it is an error of this call alone.
func TestHostile(t *testing.T) {
	m := loadWith(t, host.Options{ComputeLimit: 300 * time.Millisecond, MaxMemory: 32 << 20})
	for do, want := range map[string]error{"spin": host.ErrCompute, "recurse": host.ErrTrap, "grow": host.ErrTrap} {
		t.Run(do, func(t *testing.T) {
			_, _, err := create(t, m, &env{}, 0, fmt.Sprintf(`{"fail":%q}`, do))
			if !errors.Is(err, want) || !errors.Is(err, abi.ErrGuest) {
				t.Errorf("error = %v, want %v", err, want)
			}
			if _, step, err := create(t, m, &env{}, 0, `{}`); err != nil || step.Error != nil {
				t.Errorf("the next call: %+v, %v", step, err)
			}
		})
	}
}

// TestMemoryExhaustionIsNamed: the guest only traps, in a function that says why. Names are those
// of the source.
func TestMemoryExhaustionIsNamed(t *testing.T) {
	m := loadWith(t, host.Options{MaxMemory: 32 << 20})
	_, _, err := create(t, m, &env{}, 0, `{"fail":"grow"}`)
	var failure *host.GuestError
	if !errors.As(err, &failure) || !errors.Is(err, host.ErrMemory) {
		t.Fatalf("error = %v", err)
	}
	if want := "out of memory: the instance uses "; !strings.HasPrefix(failure.Message, want) {
		t.Errorf("message = %s, want %s…", failure.Message, want)
	}
	if !strings.Contains(failure.Stack, ".rust_minimal::handlers::create_fn(") || strings.Contains(failure.Stack, ".kopf::") { // frames of the SDK, unless the compiler has inlined all
		t.Errorf("the stack:\n%s", failure.Stack)
	}
}

package host

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
)

func TestFailures(t *testing.T) {
	patient := loadGo(t, Options{ComputeLimit: time.Minute, MaxMemory: 16 << 20})
	impatient := loadGo(t, Options{ComputeLimit: 300 * time.Millisecond, MaxMemory: 16 << 20})
	for _, test := range []struct {
		what    string
		cause   error
		message string
		stack   string
	}{
		{"panic", ErrTrap, "panic: boom", "main.run("},
		{"error", ErrTrap, "an error value", "main.run("},
		{"exit", ErrExit, "exited with code 7", "os.Exit"},
		{"deadlock", ErrTrap, "fatal error: all goroutines are asleep - deadlock!", "main.run("},
		{"spin", ErrCompute, "computed too long: more than 300ms without giving back control", "main.run("},
		{"recurse", ErrTrap, "fatal error: ", "main.recurse("},
		{"eat", ErrTrap, "fatal error: out of memory", "main.run("},
		{"broken", ErrMessage, "unexpected end of JSON", ""},
		{"outside", ErrMessage, "outside of the memory", ""},
		{"huge", ErrMessage, "4294967295 bytes", ""},
	} {
		t.Run(test.what, func(t *testing.T) {
			m := patient
			if errors.Is(test.cause, ErrCompute) {
				m = impatient
			}
			neighbour, _, err := m.Start(t.Context(), invoke("wait"), nil, &testEnv{})
			if err != nil {
				t.Fatal(err)
			}
			defer neighbour.Release(t.Context())
			task, _, err := m.Start(t.Context(), invoke(test.what), nil, &testEnv{})
			var guest *GuestError
			if task != nil || !errors.As(err, &guest) || !errors.Is(err, abi.ErrGuest) || !errors.Is(err, test.cause) {
				t.Fatalf("error = %v", err)
			}
			if guest.Module != "guest.wasm" || guest.Export != "kopf_start" || !strings.Contains(guest.Message, test.message) {
				t.Errorf("error = %+v", guest)
			}
			if !strings.Contains(guest.Stack, test.stack) {
				t.Errorf("no %s in the stack:\n%s", test.stack, guest.Stack)
			}
			if step, err := neighbour.Resume(t.Context(), abi.Answer{}); err != nil || step.Step != abi.StepDone {
				t.Errorf("the neighbour: %+v, %v", step, err)
			}
		})
	}
}

// TestStacksOfGuestsAreBounded: a message of a guest has room for a stack of megabytes. Each of its names costs time of
// the host, and some become a kilobyte.
func TestStacksOfGuestsAreBounded(t *testing.T) {
	for name, frame := range map[string]string{
		"short names":     "_RNvC1a1b\n",
		"names that grow": "_RYTTjjETB1_B1_ETB5_B5_ETBd_Bd_ETBl_Bl_ETBt_Bt_EEC0\n",
		"no names":        "main.fn(0x1)\n",
		"one line":        "x",
	} {
		for _, m := range []*Module{{}, {options: Options{FullStacks: true}}} {
			stack := m.shown(strings.Repeat(frame, 2*maxShown/len(frame)))
			if len(stack) > maxShown+100 { // and how much was left out
				t.Errorf("%s: %d bytes, which begin with %.20q", name, len(stack), stack)
			}
		}
	}
}

func TestDeadInstancesStayDead(t *testing.T) {
	m := loadGo(t, Options{})
	parent, _, err := m.Start(t.Context(), invoke("children"), nil, &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := parent.Start(t.Context(), invoke("panic"), nil, &testEnv{}); !errors.Is(err, abi.ErrGuest) {
		t.Fatal(err)
	}
	_, err = parent.Resume(t.Context(), abi.Answer{})
	if !errors.Is(err, abi.ErrInstanceLost) || !errors.Is(err, abi.ErrGuest) || !strings.Contains(err.Error(), "boom") {
		t.Errorf("error = %v", err)
	}
	parent.Release(t.Context())
	if got := result(t, m, "count", &testEnv{}); got != "1" {
		t.Errorf("count = %s", got)
	}
}

func TestMissingExport(t *testing.T) {
	m, err := load(t, minimalWaiter(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	task, _, err := m.Start(t.Context(), invoke(""), nil, &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	defer task.Release(t.Context())
	_, err = task.Resume(t.Context(), abi.Answer{})
	if !errors.Is(err, ErrExport) || !errors.Is(err, abi.ErrGuest) || !strings.Contains(err.Error(), "kopf_resume") {
		t.Errorf("error = %v", err)
	}
}

// duringCall calls a function when the next call of a module runs.
func duringCall(m *Module, do func()) {
	go func() { // ends after the call has begun
		for len(m.pool.permits) == 0 {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(100 * time.Millisecond) // for the guest to begin
		do()
	}()
}

func TestContextEndsCalls(t *testing.T) {
	m := loadGo(t, Options{StopGrace: 50 * time.Millisecond})
	for _, what := range []string{"spin", "sleep forever"} {
		t.Run(what, func(t *testing.T) {
			result(t, m, "count", &testEnv{}) // there is an instance now
			ctx, cancel := context.WithCancelCause(t.Context())
			cause := errors.New("enough")
			var ended time.Time
			duringCall(m, func() {
				ended = time.Now()
				cancel(cause)
			})
			_, _, err := m.Start(ctx, invoke(what), nil, &testEnv{})
			if !errors.Is(err, cause) || !errors.Is(err, abi.ErrGuest) {
				t.Errorf("error = %v", err)
			}
			if late := time.Since(ended); late < 50*time.Millisecond || late > time.Minute {
				t.Errorf("stopped %v after the end of the context", late)
			}
		})
	}
}

func TestContextLetsShortWorkEnd(t *testing.T) {
	m := loadGo(t, Options{StopGrace: 10 * time.Second})
	result(t, m, "count", &testEnv{}) // there is an instance now
	ctx, cancel := context.WithCancel(t.Context())
	duringCall(m, cancel)
	task, step, err := m.Start(ctx, invoke("sleep long"), nil, &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	defer task.Release(ctx)
	if string(step.Result) != "true" {
		t.Errorf("result = %s", step.Result)
	}
	if _, _, err := m.Start(ctx, invoke("count"), nil, &testEnv{}); !errors.Is(err, context.Canceled) || errors.Is(err, abi.ErrGuest) {
		t.Errorf("a call after the end: %v", err)
	}
}

func TestSleepIsNotComputing(t *testing.T) {
	m := loadGo(t, Options{ComputeLimit: time.Second})
	if got := result(t, m, "sleep", &testEnv{}); len(got) < len("1200") {
		t.Errorf("slept %s ms", got)
	}
}

func TestCancelEndsSleeps(t *testing.T) {
	m := loadGo(t, Options{})
	task, _, err := m.Start(t.Context(), invoke("wait and sleep"), nil, &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	defer task.Release(t.Context())
	ended := make(chan error)
	go func() { // waited for below
		_, err := task.Resume(context.Background(), abi.Answer{})
		ended <- err
	}()
	time.Sleep(20 * time.Millisecond)
	if err := task.Cancel(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

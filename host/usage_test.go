package host

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/internal/asm"
	"github.com/kopf-wasm/kopf/host/prepare"
)

func TestUsage(t *testing.T) {
	m := loadGo(t, Options{})
	start := m.Usage()
	if start.Made != 1 || start.Living != 0 || start.Idle != 0 || start.Working != 0 || start.Calls == 0 || start.Computing <= 0 {
		t.Errorf("after loading: %+v", start)
	}
	waiting, _, err := m.Start(t.Context(), invoke("wait"), nil, &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	during := m.Usage()
	if during.Memory <= start.Memory {
		t.Errorf("the memory of an instance is not counted: %d bytes, and %d before", during.Memory, start.Memory)
	}
	if during.Living != 1 || during.Idle != 0 || during.Working != 1 {
		t.Errorf("while a handler waits: %+v", during)
	}
	if during.Calls-start.Calls != 2 || during.Computing <= start.Computing { // kopf_alloc and kopf_start
		t.Errorf("while a handler waits: %+v, before: %+v", during, start)
	}
	if _, err := waiting.Resume(t.Context(), abi.Answer{}); err != nil {
		t.Fatal(err)
	}
	waiting.Release(t.Context())
	if got := m.Usage(); got.Calls <= during.Calls || got.Computing <= during.Computing {
		t.Errorf("after the next step: %+v, before: %+v", got, during)
	}
}

func TestSleepIsNotSpent(t *testing.T) {
	m := bare(t, nil)
	c := &call{in: &instance{m: m}, budget: budget{uncounted: uncounted{settled: time.Now().Add(-time.Hour)}, slept: 59 * time.Minute}}
	c.Settle()
	if got := m.Usage().Computing; got < time.Minute || got > 30*time.Minute {
		t.Errorf("%v of a minute of computing are counted", got)
	}
	c.Settle()
	if got := m.Usage(); got.Calls != 2 || got.Computing > 30*time.Minute {
		t.Errorf("what was counted is counted again: %+v", got)
	}
}

// TestComputingIsCountedWhileACallRuns: an operator that computes without an end shows it, not only when a limit has ended it.
func TestComputingIsCountedWhileACallRuns(t *testing.T) {
	m, err := load(t, asm.Guest(loop()).Encode(), Options{ComputeLimit: time.Hour, StopGrace: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { // waited for below
		_, _, err := m.Start(ctx, invoke(""), nil, &testEnv{})
		ended <- err
	}()
	before := m.Usage()
	for deadline := time.Now().Add(time.Minute); m.Usage().Computing < before.Computing+10*sliceOfCore; {
		if time.Now().After(deadline) {
			t.Errorf("a call that runs is not counted: %+v", m.Usage())
			break
		}
		time.Sleep(time.Millisecond)
	}
	during := m.Usage()
	if during.Calls > before.Calls+1 { // kopf_alloc has ended
		t.Errorf("%d calls are counted, and one has ended", during.Calls-before.Calls)
	}
	if during.Fuel <= before.Fuel {
		t.Error("the fuel of a call that runs is not counted")
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended: %v", err)
	}
}

// TestFuel: a loop of a known length costs what the rewriter charges, each time.
func TestFuel(t *testing.T) {
	count := asm.Cat(asm.I32Const(1_000_000), asm.Set(0), asm.Loop, asm.Get(0), asm.I32Const(1), asm.I32Sub, []byte{0x22, 0}, asm.BrIf(0), asm.End)
	m, err := load(t, asm.Guest(count).Encode(), Options{NoClones: true, RetireCalls: 1})
	if err != nil {
		t.Fatal(err)
	}
	var fuel []int64
	for range 3 {
		before := m.Usage().Fuel
		task, _, err := m.Start(t.Context(), invoke(""), nil, &testEnv{})
		if err != nil {
			t.Fatal(err)
		}
		fuel = append(fuel, m.Usage().Fuel-before)
		task.Release(t.Context())
	}
	if fuel[0] < 5_000_000 || fuel[0] > 20_000_000 || fuel[0]%prepare.Budget != 0 {
		t.Errorf("a million turns of five instructions cost %d", fuel[0])
	}
	if fuel[1] != fuel[0] || fuel[2] != fuel[0] {
		t.Errorf("the same work costs %v", fuel)
	}
}

func TestFailuresAreCounted(t *testing.T) {
	for _, test := range []struct {
		name                     string
		code                     []byte
		limit                    time.Duration
		timeout                  time.Duration
		want                     error
		stopped, overran, failed int64
	}{
		{"spins", loop(), 50 * time.Millisecond, time.Hour, ErrCompute, 1, 1, 1},
		{"spins until its timeout", loop(), time.Hour, 500 * time.Millisecond, context.DeadlineExceeded, 1, 0, 1},
		{"traps", asm.Unreachable, time.Hour, time.Hour, ErrTrap, 0, 0, 1},
	} {
		m, err := load(t, asm.Guest(test.code).Encode(), Options{ComputeLimit: test.limit})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), test.timeout)
		_, _, err = m.Start(ctx, invoke(""), nil, &testEnv{})
		cancel()
		if !errors.Is(err, test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
		if u := m.Usage(); u.Stopped != test.stopped || u.Overran != test.overran || u.Failed != test.failed || u.Living != 0 {
			t.Errorf("%s: %+v", test.name, u)
		}
	}
}

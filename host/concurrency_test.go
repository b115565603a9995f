package host

import (
	"context"
	"errors"
	"math/rand"
	"sync"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/internal/asm"
	"github.com/kopf-wasm/kopf/internal/processors"
)

// TestConcurrentUse mixes everything that may happen at the same time. It is
// most useful with the race detector.
func TestConcurrentUse(t *testing.T) {
	m := loadGo(t, Options{MaxInstances: 4, MaxIdle: 2, RetireCalls: 5, ComputeLimit: 50 * time.Millisecond, StopGrace: time.Millisecond})
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			rnd := rand.New(rand.NewSource(int64(worker)))
			for range 30 {
				useOnce(t, m, rnd)
			}
		})
	}
	wg.Wait()
	if got := len(m.pool.permits); got != 0 {
		t.Errorf("%d instances are still in use", got)
	}
}

// Modules with the same code share machine code, also while some of them are loaded and others closed.
func TestConcurrentLoads(t *testing.T) {
	wasm := asm.Guest(nil).Encode()
	o := withCache(t, Options{})
	first, err := Load(t.Context(), "op.wasm", wasm, o) // so that the cache has the code
	if err == nil {
		err = first.Close(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				m, err := Load(t.Context(), "op.wasm", wasm, o)
				if err == nil {
					err = m.Close(t.Context())
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}

// useOnce runs one task in one of many ways.
func useOnce(t *testing.T, m *Module, rnd *rand.Rand) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rnd.Intn(40)+1)*time.Millisecond)
	defer cancel()
	what := []string{"count", "wait", "children", "panic", "spin", "sleep forever", "transform"}[rnd.Intn(7)]
	task, step, err := m.Start(ctx, invoke(what), nil, &testEnv{})
	if err != nil {
		if !errors.Is(err, abi.ErrGuest) && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", what, err)
		}
		return
	}
	defer task.Release(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { _ = task.Cancel(ctx) })
	if step.Step == abi.StepExecute {
		wg.Go(func() {
			if child, _, err := task.Start(ctx, invoke("child"), nil, &testEnv{}); err == nil {
				child.Release(ctx)
			}
		})
	}
	if step.Step != abi.StepDone {
		_, _ = task.Resume(ctx, abi.Answer{})
	}
	wg.Wait()
}

// TestCloseDuringUse closes a module while it is used in all ways.
func TestCloseDuringUse(t *testing.T) {
	for seed := range int64(5) {
		m := loadGo(t, Options{MaxInstances: 4, ComputeLimit: 50 * time.Millisecond})
		var wg sync.WaitGroup
		for worker := range int64(4) {
			wg.Go(func() {
				rnd := rand.New(rand.NewSource(seed*10 + worker))
				for range 5 {
					task, _, err := m.Start(context.Background(), invoke([]string{"wait", "count", "spin"}[rnd.Intn(3)]), nil, &testEnv{})
					if err == nil {
						task.Release(context.Background())
					}
				}
			})
		}
		time.Sleep(time.Duration(seed) * 3 * time.Millisecond)
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
		wg.Wait()
	}
}

// TestGivingBackNeedsNoCore shows that a release does not wait for a core. It would otherwise wait behind goroutines that
// are about to create another instance.
func TestGivingBackNeedsNoCore(t *testing.T) {
	m := loadGo(t, Options{})
	task, _, err := m.Start(t.Context(), invoke("count"), nil, &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	for range processors.Number() {
		takeCore()
	}
	task.Release(t.Context()) // would wait for ever
	for range processors.Number() {
		leaveCore()
	}
	if got := m.Usage(); got.Idle != 1 || got.Made != 2 {
		t.Errorf("the instance was not given back: %+v", got)
	}
}

// TestCloseBeforeAnInstanceIsMade: a call that begins while the module is closed has an instance that Close takes first. It made a copy of a
// snapshot, or of a machine, that was gone, and ended the process.
func TestCloseBeforeAnInstanceIsMade(t *testing.T) {
	for name, o := range map[string]Options{"clones": {}, "no clones": {NoClones: true}} {
		m, err := load(t, minimalWaiter(), o)
		if err != nil {
			t.Fatal(err)
		}
		m.pool.reap(0)
		in, fresh, err := m.pool.take(m, false)
		if err != nil || !fresh {
			t.Fatal(fresh, err)
		}
		if err := m.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := in.create(t.Context()); !errors.Is(err, errClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

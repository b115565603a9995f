package host

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/host/cores"
	"github.com/kopf-wasm/kopf/host/internal/asm"
	"github.com/kopf-wasm/kopf/internal/processors"
)

// onOneCore runs a test in a process of its own with one core: waiting in the wrong order shows soon. It is false in the process that only waits for the other one.
func onOneCore(t *testing.T) bool {
	t.Helper()
	if processors.Number() == 1 {
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=2m")
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("with one core: %v\n%s", err, out)
	}
	return false
}

// inTime fails with the stacks of all goroutines when something hangs.
func inTime(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		var dump strings.Builder
		_ = pprof.Lookup("goroutine").WriteTo(&dump, 1)
		t.Fatalf("%s hangs\n%s", what, dump.String())
	}
}

// TestCloseWhileInstancesAreAcquired: closing a module and acquiring its instances wait for the same
// things, see pool for the order.
func TestCloseWhileInstancesAreAcquired(t *testing.T) {
	if !onOneCore(t) {
		return
	}
	wasm := asm.Guest(nil).Encode()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
		m, err := Load(t.Context(), "op.wasm", wasm, withCache(t, Options{MaxIdle: 1}))
		if err != nil {
			t.Fatal(err)
		}
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				for {
					task, _, err := m.Start(context.Background(), invoke(""), nil, &testEnv{})
					if err != nil {
						return
					}
					task.Release(context.Background())
				}
			})
		}
		time.Sleep(rand.N(3 * time.Millisecond))
		inTime(t, "Close", func() {
			if err := m.Close(context.Background()); err != nil {
				t.Error(err)
			}
			callers.Wait()
		})
	}
}

// withoutCores does something while all cores are taken.
func withoutCores(t *testing.T, what string, do func()) {
	t.Helper()
	inTime(t, what, func() {
		for range processors.Number() {
			takeCore()
			defer leaveCore()
		}
		do()
	})
}

// asmGuest loads the simplest guest.
func asmGuest(t *testing.T) *Module {
	t.Helper()
	m, err := load(t, asm.Guest(nil).Encode(), Options{MaxIdle: 1})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestCloseNeedsNoCore: the guests that have the cores may wait for an instance that Close holds.
func TestCloseNeedsNoCore(t *testing.T) {
	m := asmGuest(t)
	task, _, err := m.Start(t.Context(), invoke(""), nil, &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	defer task.Release(t.Context())
	withoutCores(t, "Close", func() {
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestLateCallsNeedNoCore: the instance of a released task may belong to another task, which then
// waits for it with a core.
func TestLateCallsNeedNoCore(t *testing.T) {
	m := asmGuest(t)
	task, _, err := m.Start(t.Context(), invoke(""), nil, &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	task.Release(t.Context())
	withoutCores(t, "a late call", func() {
		if err := task.Cancel(t.Context()); err == nil {
			t.Error("no error")
		}
	})
}

// TestInstancesAreAwaitedWithoutCores: the holder may need a core to finish.
func TestInstancesAreAwaitedWithoutCores(t *testing.T) {
	m := asmGuest(t)
	task, _, err := m.Start(t.Context(), invoke(""), nil, &testEnv{})
	if err != nil {
		t.Fatal(err)
	}
	task.Release(t.Context())
	in := task.in // idle now: the next call chooses it
	in.hold()
	started := make(chan error, 1)
	go func() {
		task, _, err := m.Start(context.Background(), invoke(""), nil, &testEnv{})
		if err == nil {
			task.Release(context.Background())
		}
		started <- err
	}()
	for m.Usage().Idle == 1 { // until it has chosen
		time.Sleep(time.Millisecond)
	}
	withoutCores(t, "taking all cores", func() {}) // that call has none
	in.release()
	if err := <-started; err != nil {
		t.Error(err)
	}
}

// TestTheProcessGoesOnBetweenSlices: a call that gets the core of another one does not run before the goroutines that wait.
func TestTheProcessGoesOnBetweenSlices(t *testing.T) {
	if !onOneCore(t) {
		return
	}
	const calls, slices = 4, 500
	s := cores.New(1, time.Now).NewShare(0, 0)
	var computing sync.WaitGroup
	for range calls {
		computing.Go(func() { slicing(t, s, slices, func() {}) })
	}
	done := make(chan struct{})
	go func() { // waited for below
		computing.Wait()
		close(done)
	}()
	for turns := 0; ; turns++ {
		select {
		case <-done:
			if least := calls * slices / 2; turns < least {
				t.Errorf("another goroutine had %d turns during %d slices, want %d or more", turns, calls*slices, least)
			}
			return
		default:
			runtime.Gosched()
		}
	}
}

//go:build figures

package host

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// neighbourFigures: a short call of one guest, and a timer of the host, while hostile
// guests compute on all cores; and while a module is compiled that takes the compiler long.
func neighbourFigures(t *testing.T, f *figures, _ map[string][]byte) {
	neighbour := loadSmall(t)
	i32, big := asm.I32Const, asm.I32Const(64<<20)
	memory := func(g asm.Module) []byte {
		g.Memory = []uint32{1025}
		return g.Encode()
	}
	hostile := []struct {
		name string
		wasm []byte
	}{
		{"an endless loop", asm.Guest(loop()).Encode()},
		{"recursion", asm.Guest(loop(asm.Call(asm.FirstMore)), tree(asm.FirstMore, 60)...).Encode()},
		{"filling 64 MiB", memory(asm.Guest(loop(i32(0), i32(1), big, asm.MemoryFill)))},
		{"copying 64 MiB", memory(asm.Guest(loop(i32(0), i32(65536), big, asm.MemoryCopy)))},
		{"growing and touching", asm.Guest(asm.Cat(i32(4000), asm.MemoryGrow, asm.Drop, loop(asm.Get(0), i32(0), asm.I32Store(), asm.Get(0), i32(4096), asm.I32Add, i32(1<<27-1), asm.I32And, asm.Set(0)))).Encode()},
	}
	for range *figureRounds {
		neighbourTimes(t, f, neighbour, "alone", 0)
		for _, h := range hostile {
			stop := spinOnAllCores(t, h.wasm)
			neighbourTimes(t, f, neighbour, "next to "+h.name, 5)
			stop()
		}
		done := make(chan struct{})
		go func() { // waited for below
			defer close(done)
			_, _ = Load(t.Context(), "bomb", compilesFor(), Options{CacheDir: CacheOff, CompileTime: time.Second})
		}()
		neighbourTimes(t, f, neighbour, "next to a compile bomb", 5)
		<-done
	}
}

// spinOnAllCores runs a guest that does not end, once for each core, until stop is called.
func spinOnAllCores(t *testing.T, wasm []byte) (stop func()) {
	t.Helper()
	m := loaded(t, "hostile", wasm, Options{ComputeLimit: time.Hour, StopGrace: time.Nanosecond})
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			if _, _, err := m.Start(ctx, invoke(""), nil, &testEnv{}); !errors.Is(err, context.Canceled) {
				t.Errorf("it ended: %v", err)
			}
		})
	}
	time.Sleep(20 * time.Millisecond)
	return func() {
		cancel()
		group.Wait()
	}
}

// neighbourTimes measures for about half a second. The goal is in milliseconds.
func neighbourTimes(t *testing.T, f *figures, neighbour *Module, when string, goal float64) {
	t.Helper()
	const times = 200
	calls, late, collected := make([]time.Duration, times), make([]time.Duration, times), time.Duration(0)
	for i := range times {
		start := time.Now()
		time.Sleep(time.Millisecond)
		late[i] = time.Since(start) - time.Millisecond
		start = time.Now()
		task, _, err := neighbour.Start(t.Context(), invoke(""), nil, &testEnv{})
		if err != nil {
			t.Fatal(err)
		}
		task.Release(t.Context())
		calls[i] = time.Since(start)
		if i%50 == 0 {
			start = time.Now()
			runtime.GC()
			collected = max(collected, time.Since(start))
		}
	}
	f.add("neighbour's call, p50, "+when, "µs", 0, micros(quantile(calls, 0.5)))
	f.add("neighbour's call, p99, "+when, "ms", goal, micros(quantile(calls, 0.99))/1e3)
	f.add("a timer of the host is late, p99, "+when, "ms", goal, micros(quantile(late, 0.99))/1e3)
	f.add("a garbage collection of the host, at most, "+when, "ms", 0, micros(collected)/1e3)
}

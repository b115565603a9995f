//go:build figures

package host

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/host/internal/asm"
)

var figureRounds = flag.Int("rounds", 5, "how often each figure is measured")

func TestFigures(t *testing.T) {
	f := &figures{}
	guests := map[string][]byte{"go": benchGuest(t, "go"), "rust": benchGuest(t, "rust")}
	for _, lines := range []func(*testing.T, *figures, map[string][]byte){
		compileFigures, instanceFigures, callFigures, memoryFigures, coreFigures, stopFigures, scriptFigures, sliceFigures, neighbourFigures, fairnessFigures,
	} {
		lines(t, f, guests)
	}
	fmt.Printf("%s, %d processors, medians of %d rounds\n\n%s", runtime.Version(), runtime.GOMAXPROCS(0), *figureRounds, f)
}

// created calls the handler of creations once.
func created(ctx context.Context, m *Module, body []byte) error {
	task, step, err := m.Start(ctx, creation(), body, &testEnv{})
	if err != nil {
		return err
	}
	task.Release(ctx)
	if step.Error != nil {
		return fmt.Errorf("the handler failed: %s", step.Error.Message)
	}
	return nil
}

// compileFigures: loading with an empty cache and with a full one.
func compileFigures(t *testing.T, f *figures, guests map[string][]byte) {
	for range *figureRounds {
		for _, language := range slices.Sorted(maps.Keys(guests)) {
			dir := filepath.Join(t.TempDir(), "cache") // a new one each time
			for _, state := range []string{"cold", "warm"} {
				start := time.Now()
				m, err := Load(t.Context(), language, guests[language], Options{CacheDir: dir})
				if err != nil {
					t.Fatal(err)
				}
				f.add(language+": load, "+state, "ms", 0, micros(time.Since(start))/1e3)
				m.Close(t.Context())
			}
		}
	}
}

// instanceFigures: making an instance, and dropping it.
func instanceFigures(t *testing.T, f *figures, guests map[string][]byte) {
	const times = 100
	goals := map[string]float64{"go": 300, "rust": 40}
	for _, language := range slices.Sorted(maps.Keys(guests)) {
		fresh := loaded(t, language, guests[language], Options{NoClones: true})
		cloned := loaded(t, language, guests[language], Options{})
		once := loaded(t, language, guests[language], Options{RetireCalls: 1})
		for range *figureRounds {
			f.add(language+": instance from the beginning", "µs", 0, instanceTime(t, fresh, times))
			f.add(language+": instance as a clone", "µs", goals[language], instanceTime(t, cloned, times))
			first, _ := callTime(t, once, object(1000), times)
			f.add(language+": call after an idle time, with its new instance, body of 1 KB", "µs", 0, first)
		}
	}
}

func instanceTime(t *testing.T, m *Module, times int) float64 {
	t.Helper()
	takeCore()
	defer leaveCore()
	var took []time.Duration
	for range times {
		start := time.Now()
		in := m.newInstance()
		in.busy <- struct{}{}
		if err := in.create(t.Context()); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(start))
		in.close()
	}
	return micros(median(took))
}

// callFigures: one creation from start to release, on a pooled instance.
func callFigures(t *testing.T, f *figures, guests map[string][]byte) {
	const times = 400
	flavours := []string{"plain", "prepared", "interrupted by the engine"}
	for _, language := range slices.Sorted(maps.Keys(guests)) {
		modules := map[string]*Module{
			flavours[0]: unprepared(t, guests[language], false),
			flavours[1]: loaded(t, language, guests[language], Options{}),
			flavours[2]: unprepared(t, guests[language], true),
		}
		for _, size := range []int{300, 1000, 10_000, 100_000} {
			what := fmt.Sprintf("%s: call, body of %g KB", language, float64(size)/1000)
			for range *figureRounds {
				p50, p99 := map[string]float64{}, map[string]float64{}
				for _, flavour := range flavours {
					p50[flavour], p99[flavour] = callTime(t, modules[flavour], object(size), times)
				}
				for _, flavour := range flavours {
					goal := 0.0
					if language == "go" && size == 10_000 && flavour == "prepared" {
						goal = 60
					}
					f.add(what+", "+flavour+", p50", "µs", goal, p50[flavour])
					f.add(what+", "+flavour+", p99", "µs", 0, p99[flavour])
				}
				f.add(what+", prepared to plain", "times", 1.25, p50["prepared"]/p50["plain"])
			}
		}
	}
}

func callTime(t *testing.T, m *Module, body []byte, times int) (p50, p99 float64) {
	t.Helper()
	took := make([]time.Duration, times)
	for i := range took {
		start := time.Now()
		if err := created(t.Context(), m, body); err != nil {
			t.Fatal(err)
		}
		took[i] = time.Since(start)
	}
	return micros(quantile(took, 0.5)), micros(quantile(took, 0.99))
}

// memoryFigures: the memory of an instance after 20 calls, with many of them alive.
func memoryFigures(t *testing.T, f *figures, guests map[string][]byte) {
	goals := map[string]float64{"go": 512, "rust": 40}
	for range *figureRounds {
		for _, language := range slices.Sorted(maps.Keys(guests)) {
			for _, count := range []int{100, 1000} {
				name := fmt.Sprintf("%s: memory of each of %d instances after 20 calls", language, count)
				f.add(name, "KiB", goals[language], instanceMemory(t, guests[language], Options{}, count))
			}
		}
	}
}

func instanceMemory(t *testing.T, wasm []byte, o Options, count int) float64 {
	t.Helper()
	o.MaxInstances, o.MaxIdle, o.IdleTimeout = count, count, time.Hour
	m := loaded(t, "guest", wasm, o)
	defer m.Close(t.Context())
	before := proportional(t)
	body := object(1000)
	instances := make([]*instance, count)
	for i := range instances {
		in, err := m.acquire(t.Context(), m.pool.permits, nil)
		if err != nil {
			t.Fatal(err)
		}
		leaveCore()
		instances[i] = in
	}
	for _, in := range instances { // one by one: the only idle one is taken
		takeCore()
		m.pool.give(in)
		in.unlock()
		for range 20 {
			if err := created(t.Context(), m, body); err != nil {
				t.Fatal(err)
			}
		}
		if again, err := m.acquire(t.Context(), m.pool.permits, nil); err != nil || again != in {
			t.Fatalf("another instance was used: %v", err)
		}
		leaveCore()
	}
	after := proportional(t)
	for _, in := range instances {
		takeCore()
		m.pool.give(in)
		in.unlock()
	}
	return float64(after-before) / float64(count)
}

// coreFigures: calls per second on one core and on all of them.
func coreFigures(t *testing.T, f *figures, guests map[string][]byte) {
	cores := runtime.GOMAXPROCS(0)
	for _, language := range slices.Sorted(maps.Keys(guests)) {
		m := loaded(t, language, guests[language], Options{})
		for range *figureRounds {
			one := callsPerSecond(t, m, 1)
			all := callsPerSecond(t, m, cores)
			f.add(language+": calls on one core", "1/ms", 0, one/1e3)
			f.add(fmt.Sprintf("%s: calls on %d cores, to one core", language, cores), "times", 0, all/one)
		}
	}
}

func callsPerSecond(t *testing.T, m *Module, workers int) float64 {
	t.Helper()
	const calls = 2000
	body := object(1000)
	var group sync.WaitGroup
	start := time.Now()
	for range workers {
		group.Go(func() {
			for range calls {
				if err := created(t.Context(), m, body); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	return float64(calls*workers) / time.Since(start).Seconds()
}

// stopFigures: how long a guest spins on after its limit, and after the end of its context.
func stopFigures(t *testing.T, f *figures, _ map[string][]byte) {
	const limit = 50 * time.Millisecond
	wasm := asm.Guest(loop()).Encode()
	limited := loaded(t, "spin", wasm, Options{ComputeLimit: limit})
	cancelled := loaded(t, "spin", wasm, Options{StopGrace: time.Nanosecond})
	for range *figureRounds {
		f.add("a spinning guest stops after its limit", "ms", 20, spins(t.Context(), t, limited, limit))
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		f.add("a spinning guest stops after the end of its context", "ms", 20, spins(ctx, t, cancelled, limit))
		cancel()
	}
}

func spins(ctx context.Context, t *testing.T, m *Module, limit time.Duration) float64 {
	t.Helper()
	start := time.Now()
	if _, _, err := m.Start(ctx, invoke(""), nil, &testEnv{}); err == nil {
		t.Fatal("it ended")
	}
	return micros(time.Since(start)-limit) / 1e3
}

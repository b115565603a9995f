package host

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/host/internal/asm"
	"github.com/kopf-wasm/kopf/host/prepare"
)

var benchBody = []byte(`{"metadata":{"name":"obj1","namespace":"ns1","labels":{"a":"b"}},"spec":{"field":"value","number":7,"list":[1,2,3]}}`)

// plainGo is the Go guest as it was compiled, without any change: nothing stops it.
func plainGo(b *testing.B) *Module {
	b.Helper()
	m := bare(b, guestBytes(b))
	if err := m.build(b.Context(), withCache(b, Options{}).CacheDir, m.prepared.Wasm); err != nil {
		b.Fatal(err)
	}
	if err := m.first(b.Context()); err != nil {
		b.Fatal(err)
	}
	return m
}

// BenchmarkCall measures one invocation of a Go guest from start to release.
func BenchmarkCall(b *testing.B) {
	modules := map[string]*Module{"plain": plainGo(b), "prepared": loadGo(b, Options{NoClones: true}), "cloned": loadGo(b, Options{})}
	for _, what := range []string{"count", "body", "garbage"} {
		for _, flavour := range []string{"plain", "prepared", "cloned"} {
			b.Run(what+"/"+flavour, func(b *testing.B) {
				for b.Loop() {
					runOnce(b, modules[flavour], what)
				}
			})
		}
	}
}

// BenchmarkCallOfNothing measures what a call costs besides the guest: the guest does
// nothing, and answers with the text that its memory holds from the start.
func BenchmarkCallOfNothing(b *testing.B) {
	bodies := map[string][]byte{"small": benchBody, "10 KB": []byte(`{"spec":{"text":"` + strings.Repeat("x", 10_000) + `"}}`)}
	m, err := Load(b.Context(), "op.wasm", asm.Guest(nil).Encode(), withCache(b, Options{}))
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close(context.Background())
	for name, body := range bodies {
		b.Run(name, func(b *testing.B) {
			inv := invoke("fn")
			b.ReportAllocs()
			for b.Loop() {
				task, _, err := m.Start(b.Context(), inv, body, &testEnv{})
				if err != nil {
					b.Fatal(err)
				}
				task.Release(b.Context())
			}
		})
	}
}

func runOnce(b *testing.B, m *Module, what string) {
	task, _, err := m.Start(b.Context(), invoke(what), benchBody, &testEnv{})
	if err != nil {
		b.Fatal(err)
	}
	task.Release(b.Context())
}

// BenchmarkLoad measures the time to load the Go guest, with and without its machine code in the cache. It reports which
// share of that is decoding and encoding the module, and how much the cache saves.
func BenchmarkLoad(b *testing.B) {
	wasm := guestBytes(b)
	var each [2]float64 // nanoseconds of a load, cold and warm
	for i, name := range []string{"cold", "warm"} {
		warm := name == "warm"
		b.Run(name, func(b *testing.B) {
			o := Options{CacheDir: b.TempDir()}
			if warm {
				loadOnce(b, wasm, o)
			}
			for b.Loop() {
				if !warm {
					b.StopTimer()
					o.CacheDir = b.TempDir()
					b.StartTimer()
				}
				loadOnce(b, wasm, o)
			}
			each[i] = float64(b.Elapsed()) / float64(b.N)
			if !warm {
				b.ReportMetric(float64(decoding(b, wasm))/each[i], "decoding/load")
			} else if each[0] > 0 {
				b.ReportMetric(each[0]/each[1], "cold/warm")
			}
		})
	}
}

func loadOnce(b *testing.B, wasm []byte, o Options) {
	m, err := Load(b.Context(), "op.wasm", wasm, o)
	if err != nil {
		b.Fatal(err)
	}
	if err := m.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// decoding is the time to decode and encode a module: the shortest of several runs.
func decoding(b *testing.B, wasm []byte) time.Duration {
	least := time.Duration(math.MaxInt64)
	for range 10 {
		began := time.Now()
		source, err := prepare.Parse(wasm)
		if err == nil {
			_, err = source.Prepare(prepare.Limits{MemoryPages: 4096})
		}
		if err != nil {
			b.Fatal(err)
		}
		least = min(least, time.Since(began))
	}
	return least
}

// BenchmarkInstance measures what it takes to make an instance and to drop it.
func BenchmarkInstance(b *testing.B) {
	small := asm.Guest(nil).Encode()
	for _, guest := range []struct {
		name string
		wasm []byte
	}{{"go", guestBytes(b)}, {"small", small}} {
		for name, o := range map[string]Options{"initialised": {NoClones: true}, "cloned": {}} {
			b.Run(guest.name+"/"+name, func(b *testing.B) {
				m, err := Load(b.Context(), "op.wasm", guest.wasm, withCache(b, o))
				if err != nil {
					b.Fatal(err)
				}
				defer m.Close(context.Background())
				takeCore()
				defer leaveCore()
				for b.Loop() {
					in := m.newInstance()
					in.busy <- struct{}{}
					if err := in.create(b.Context()); err != nil {
						b.Fatal(err)
					}
					in.close()
				}
			})
		}
	}
}

// BenchmarkMemory measures the memory of an instance of the Go guest, fresh and
// after 20 calls, in KiB of the process's proportional set.
func BenchmarkMemory(b *testing.B) {
	const instances = 100
	for name, o := range map[string]Options{"initialised": {NoClones: true}, "cloned": {}} {
		b.Run(name, func(b *testing.B) {
			o.MaxInstances = instances
			m := loadGo(b, o)
			before := proportional(b)
			var tasks []*Task
			for range instances {
				task, _, err := m.Start(b.Context(), invoke("children"), nil, &testEnv{})
				if err != nil {
					b.Fatal(err)
				}
				tasks = append(tasks, task)
			}
			fresh := proportional(b)
			for _, task := range tasks {
				for range 20 {
					child, _, err := task.Start(b.Context(), invoke("body"), benchBody, &testEnv{})
					if err != nil {
						b.Fatal(err)
					}
					child.Release(b.Context())
				}
			}
			used := proportional(b)
			for _, task := range tasks {
				task.Release(b.Context())
			}
			b.ReportMetric(float64(fresh-before)/instances, "KiB/fresh")
			b.ReportMetric(float64(used-before)/instances, "KiB/used")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// proportional is the proportional set size of the process in KiB.
func proportional(b testing.TB) int {
	debug.FreeOSMemory()
	file, err := os.Open("/proc/self/smaps_rollup")
	if err != nil {
		b.Skip(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "Pss:"); ok {
			var size int
			if _, err := fmt.Sscan(rest, &size); err != nil {
				b.Fatal(err)
			}
			return size
		}
	}
	b.Skip("no proportional set size")
	return 0
}

package extism

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/functions"
	"github.com/kopf-wasm/kopf/host/guests"
	"github.com/kopf-wasm/kopf/host/imports"
)

// caller is the call of a plugin whose code is a test.
type caller struct{ plugin *plugin }

func (c caller) Guest() guests.Guest                  { return c.plugin }
func (c caller) Owner() *functions.Task               { return nil }
func (c caller) Task(uint32) *functions.Task          { return nil }
func (c caller) Config(key string) (string, bool)     { return "value", key == "{}" }
func (c caller) Log(*functions.Task, int, []byte)     {}
func (c caller) Wait(_ time.Duration, ok func() bool) { ok() }

func (c caller) Request(*abi.Call) abi.Answer {
	return abi.Answer{Response: &abi.Response{Status: 200, Body: abi.Raw(`"text"`), Headers: map[string][]string{"A": {"b"}}}}
}

// FuzzMemory calls functions with any arguments: the memory stays below its limit, and each
// call ends with a result or with a cause.
func FuzzMemory(f *testing.F) {
	var all []imports.Function[Caller]
	for _, table := range []map[string]imports.Function[Caller]{EnvFunctions, UserFunctions} {
		for _, name := range slices.Sorted(maps.Keys(table)) {
			all = append(all, table[name])
		}
	}
	edges := []uint64{0, 1, 15, 16, 24, 1 << 20, 1 << 31, 1<<32 - 1, 1 << 63, 1<<64 - 8, 1<<64 - 1}
	for i := range all {
		for _, e := range edges {
			f.Add(uint(i), e, e, uint64(16))
			f.Add(uint(i), uint64(16), e, e)
			f.Add(uint(i), uint64(0), uint64(16), e)
		}
	}
	p := New(Limits{Message: 1 << 12, Variables: 1 << 10, Response: 1 << 10}).(*plugin)
	p.kernel.reset([]byte(`{}`))
	f.Fuzz(func(t *testing.T, which uint, a, b, c uint64) {
		if used := run(t, p, all[which%uint(len(all))], a, b, c); used > p.kernel.limit+kernelAlign {
			t.Errorf("function %d: %d bytes of memory, the limit is %d", which, used, p.kernel.limit)
		}
	})
}

// run calls a function in memory that earlier calls have changed. It starts with new memory
// after a failure.
func run(t *testing.T, p *plugin, f imports.Function[Caller], args ...uint64) (used int) {
	defer func() {
		used = len(p.kernel.arena)
		if r := recover(); r != nil {
			var s *guests.Stopped
			if err, ok := r.(error); !ok || !errors.As(err, &s) {
				t.Errorf("it panics with %v", r)
			}
			p.kernel.reset([]byte(`{}`))
		}
	}()
	f.Do(caller{p}, args)
	return 0
}

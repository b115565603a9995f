package host

import (
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/internal/asm"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
)

// scatteredPages is how many pages of its memory a scatterer changes.
const scatteredPages = 20

// scatterer is a guest that writes to many pages and waits. It then traps if a page has changed, or if the memory by which
// it grows is not zero.
func scatterer() asm.Module {
	const first, step = 2 << 16, `{"step":"wait","seconds":3600}`
	at := asm.Cat(asm.Get(3), asm.I32Const(4096), asm.I32Mul, asm.I32Const(first), asm.I32Add)
	each := func(code ...[]byte) []byte {
		return asm.Cat(asm.I32Const(scatteredPages), asm.Set(3), asm.Loop, asm.Get(3), asm.I32Const(1), asm.I32Sub, asm.Set(3),
			asm.Cat(code...), asm.Get(3), asm.BrIf(0), asm.End)
	}
	trapUnless := func(code ...[]byte) []byte {
		return asm.Cat(asm.Cat(code...), asm.I32Eqz, asm.If, asm.Unreachable, asm.End)
	}
	equal := []byte{0x46}
	g := asm.Guest(nil)
	g.Memory = []uint32{4}
	g.Data = append(g.Data, asm.Data{Offset: textAt, Bytes: step})
	function := func(export string, code ...[]byte) asm.Func {
		return asm.Func{Export: export, Params: three, Results: []byte{asm.I64}, Locals: []byte{asm.I32}, Code: asm.Cat(code...)}
	}
	return g.
		With(function("kopf_start", each(at, asm.Get(3), asm.I32Const(1000), asm.I32Add, asm.I32Store()), asm.Text(textAt, step))).
		With(function("kopf_resume",
			each(trapUnless(at, asm.I32Load(), asm.Get(3), asm.I32Const(1000), asm.I32Add, equal)),
			asm.I32Const(1), asm.MemoryGrow, []byte{0x41}, asm.S64(16), []byte{0x74}, asm.Set(3), // i32.shl: the address of what is new
			trapUnless(asm.Get(3), asm.I32Load(), asm.I32Eqz),
			trapUnless(asm.Get(3), asm.I32Const(2048), asm.I32Add, asm.I32Load(), asm.I32Eqz),
			asm.Text(textAt, step))).
		With(asm.Func{Export: "kopf_cancel", Params: []byte{asm.I32}})
}

// TestStacks: of many instances that wait, few have a stack, and all can be called.
func TestStacks(t *testing.T) {
	m, err := load(t, scatterer().Encode(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var tasks []*Task
	for range m.pool.stacks.limit + 5 {
		task, _, err := m.Start(t.Context(), invoke(""), nil, &testEnv{})
		if err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, task)
	}
	for range 2 {
		have := 0
		for _, task := range tasks {
			if task.in.exports.Load() != nil {
				have++
			}
			if _, err := task.Resume(t.Context(), abi.Answer{}); err != nil {
				t.Fatal(err)
			}
		}
		if have > m.pool.stacks.limit {
			t.Errorf("%d instances have stacks, want %d at most", have, m.pool.stacks.limit)
		}
	}
	for _, task := range tasks {
		task.Release(t.Context())
	}
	if n := len(m.pool.stacks.all); n > m.options.MaxIdle {
		t.Errorf("%d instances are remembered that have ended", n)
	}
}

// TestSmallStacks: a call that computes for long keeps its stack, if that is small, so the next
// call allocates none.
func TestSmallStacks(t *testing.T) {
	m := loadGo(t, Options{})
	before := (*exports)(nil)
	for call := range 30 { // some of them use up a budget, which is common to all calls
		task, _, err := m.Start(t.Context(), invoke("body"), benchBody, &testEnv{})
		if err != nil {
			t.Fatal(err)
		}
		kept := task.in.exports.Load()
		if kept == nil || call > 0 && kept != before {
			t.Fatalf("call %d: the instance has another stack", call)
		}
		before = kept
		task.Release(t.Context())
	}
}

// TestLargeStacks: the stack of a deep recursion, which is not in the memory of the instance, does not
// stay while it waits.
func TestLargeStacks(t *testing.T) {
	deep := asm.Func{Params: []byte{asm.I32}, Code: asm.Cat(asm.Get(0), asm.If, asm.Get(0), asm.I32Const(1), asm.I32Sub, asm.Call(asm.FirstMore), asm.End)}
	g := asm.Guest(nil, deep)
	const step = `{"step":"wait"}`
	g.Data = append(g.Data, asm.Data{Offset: textAt - 1024, Bytes: step})
	g = g.With(asm.Func{
		Export: "kopf_start", Params: three, Results: []byte{asm.I64},
		Code: asm.Cat(asm.I32Const(500_000), asm.Call(asm.FirstMore), asm.Text(textAt-1024, step)),
	})
	m, err := load(t, g.Encode(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	before := boundedtest.InUse()
	var tasks []*Task
	for range 5 {
		task, _, err := m.Start(t.Context(), invoke(""), nil, &testEnv{})
		if err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, task)
	}
	if more := boundedtest.InUse() - before; more > 4<<20 {
		t.Errorf("%d waiting instances take %d MiB of the heap", len(tasks), more>>20)
	}
	for _, task := range tasks {
		task.Release(t.Context())
	}
}

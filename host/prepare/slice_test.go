package prepare

import (
	"context"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/kopf-wasm/kopf/host/internal/asm"
	"github.com/kopf-wasm/kopf/host/linear"
)

// attacks are programs that try to stay in machine code for as long as possible
// within a budget. Local 3 is an address or a number, local 4 a long one.
func attacks() map[string]asm.Module {
	rep := func(n int, parts ...[]byte) []byte { return asm.Repeat(n, asm.Cat(parts...)...) }
	forever := func(parts ...[]byte) asm.Module {
		m := program(asm.Cat(asm.Loop, asm.Cat(parts...), asm.Br(0), asm.End, asm.I32Const(0)), asm.Func{})
		m.Memory = []uint32{4000}
		return m
	}
	mask := asm.Cat(asm.I32Const(128<<20-4), []byte{0x71}) // i32.and
	chase := asm.Cat(asm.Get(3), asm.I32Load(), asm.I32Const(1103515245), asm.I32Add, asm.Get(3), asm.I32Const(69069), asm.I32Mul, asm.I32Add, mask, asm.Set(3))
	touch := asm.Cat(asm.Get(3), asm.Get(3), asm.I32Store(), asm.Get(3), asm.I32Const(4096), asm.I32Add, asm.Cat(asm.I32Const(128<<20-1), []byte{0x71}), asm.Set(3))
	scatter := asm.Cat(asm.Get(3), asm.Get(3), asm.I32Store(), asm.Get(3), asm.I32Const(69069), asm.I32Mul, asm.I32Const(1), asm.I32Add, mask, asm.Set(3))
	divide := asm.Cat(asm.I64Const(-1), asm.Get(4), asm.I64Const(3), []byte{0x84, 0x80}, asm.Set(4)) // i64.or, i64.div_u
	root := asm.Cat(asm.Get(4), []byte{0xbf, 0x9f, 0xbd}, asm.Set(4))                                // f64.reinterpret, sqrt, back
	vector := func(op uint32) []byte {
		return asm.Cat(asm.Get(4), []byte{0xfd, 18}, asm.Get(4), []byte{0xfd, 18, 0xfd}, asm.U32(op), []byte{0xfd, 29, 0}, asm.Set(4))
	}
	table := forever(asm.I32Const(0), []byte{0xd0, 0x70}, asm.I32Const(1<<20), asm.Bulk(17, 0))
	table.Tables = [][]byte{asm.Cat([]byte{0x70, 0}, asm.U32(1<<20))}
	indirect := forever(rep(100, asm.I32Const(0), asm.CallIndirect(1)))
	indirect.Tables, indirect.Elements = [][]byte{{0x70, 0, 1}}, [][]byte{{0, 0x41, 0, 0x0b, 1, 1}}
	wide := forever(rep(20, rep(maxParams, asm.Get(3)), asm.Call(2)))
	wide.Funcs = append(wide.Funcs, asm.Func{Params: asm.Repeat(maxParams, asm.I32)})
	return map[string]asm.Module{
		"empty loop":   forever(),
		"cache misses": forever(rep(100, chase)),
		"page touches": forever(rep(100, touch)),
		"scattered":    forever(rep(100, scatter)),
		"divisions":    forever(rep(100, divide)),
		"roots":        forever(rep(100, root)),
		"vectors mul":  forever(rep(100, vector(0xd5))),
		"vectors div":  forever(rep(100, vector(0xf3))),
		"calls":        forever(rep(100, asm.Call(1))),
		"wide calls":   wide,
		"indirect":     indirect,
		"fill":         forever(asm.I32Const(0), asm.I32Const(1), asm.I32Const(128<<20), asm.MemoryFill),
		"copy":         forever(asm.I32Const(0), asm.I32Const(64<<20+7), asm.I32Const(64<<20), asm.MemoryCopy),
		"small fills":  forever(rep(100, asm.I32Const(0), asm.I32Const(1), asm.I32Const(15), asm.MemoryFill)),
		"table.fill":   table,
		"memory.grow":  forever(asm.I32Const(0), asm.MemoryGrow, asm.Drop),
	}
}

// BenchmarkSlice measures how long machine code runs between two yields at most
// and on average, in milliseconds.
func BenchmarkSlice(b *testing.B) {
	for name, m := range attacks() {
		b.Run(name, func(b *testing.B) {
			worst, total, n := measureSlices(b, m, max(b.N, 30))
			b.ReportMetric(float64(worst.Microseconds())/1000, "ms/worst")
			b.ReportMetric(float64(total.Microseconds())/1000/float64(n), "ms/slice")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// measureSlices runs a program for so many slices.
func measureSlices(t testing.TB, m asm.Module, slices int) (worst, total time.Duration, n int) {
	t.Helper()
	p, err := prepared(m.Encode())
	if err != nil {
		t.Fatal(err)
	}
	memory, err := linear.Reserve(int(p.MinPages)<<16, 256<<20)
	if err != nil {
		t.Fatal(err)
	}
	ctx := experimental.WithMemoryAllocator(context.Background(), experimental.MemoryAllocatorFunc(
		func(uint64, uint64) experimental.LinearMemory { return memory }))
	rt := wazero.NewRuntime(ctx)
	defer rt.Close(ctx)
	var last time.Time
	yield := func() int64 {
		slice := time.Since(last)
		if n++; n > slices {
			panic(errSpent)
		}
		total += slice
		worst = max(worst, slice)
		last = time.Now()
		return Budget
	}
	if _, err := rt.NewHostModuleBuilder(HostModule).NewFunctionBuilder().WithFunc(yield).Export(Yield).Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	mod, err := rt.Instantiate(ctx, p.Wasm)
	if err != nil {
		t.Fatal(err)
	}
	last = time.Now()
	if _, err := mod.ExportedFunction("f").Call(ctx, 0, 0, 0); err == nil {
		t.Fatal("it ended")
	}
	return worst, total, n - 1
}

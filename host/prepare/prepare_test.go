package prepare

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// program is a module with one function f: (i32, i32, i32) -> i32 and some state.
func program(code []byte, more ...asm.Func) asm.Module {
	return asm.Module{
		Memory: []uint32{80},
		Funcs: append([]asm.Func{{
			Export: "f", Params: []byte{asm.I32, asm.I32, asm.I32}, Results: []byte{asm.I32},
			Locals: []byte{asm.I32, asm.I64}, Code: code,
		}}, more...),
		Globals: [][]byte{asm.Cat([]byte{asm.I32, 1}, asm.I32Const(7), asm.End)},
		Data:    []asm.Data{{Offset: 8, Bytes: "some data"}, {Offset: 100, Bytes: "more"}},
	}
}

var fillPattern = asm.Cat( // memory[i] = i*7 for i < 80 pages, four bytes apart
	asm.Loop,
	asm.Get(3), asm.Get(3), asm.I32Const(7), asm.I32Mul, asm.I32Store(),
	asm.Get(3), asm.I32Const(4), asm.I32Add, asm.Set(3),
	asm.Get(3), asm.I32Const(80<<16), []byte{0x49}, asm.BrIf(0), // i32.lt_u
	asm.End,
)

var sparsePattern = asm.Cat( // a byte each 40,001 ones
	asm.Loop,
	asm.Get(3), asm.I32Const(1), []byte{0x3a, 0, 0}, // i32.store8
	asm.Get(3), asm.I32Const(40_001), asm.I32Add, asm.Set(3),
	asm.Get(3), asm.I32Const(80<<16), []byte{0x49}, asm.BrIf(0), // i32.lt_u
	asm.End,
)

func TestSameBehaviour(t *testing.T) {
	copies := program(asm.Cat(fillPattern, asm.Get(0), asm.Get(1), asm.Get(2), asm.MemoryCopy, asm.I32Const(1)))
	fills := program(asm.Cat(fillPattern, asm.Get(0), asm.Get(1), asm.Get(2), asm.MemoryFill, asm.I32Const(1)))
	clears := program(asm.Cat(sparsePattern, asm.Get(0), asm.Get(1), asm.Get(2), asm.MemoryFill, asm.I32Const(1)))
	inits := program(asm.Cat(asm.Get(0), asm.Get(1), asm.Get(2), asm.Bulk(8, 2, 0), asm.I32Const(1)))
	inits.DataCount = true
	inits.Passive = [][]byte{asm.Repeat(3<<18, 1, 2, 3, 4)}
	grows := program(asm.Cat(asm.Get(0), asm.MemoryGrow, asm.Drop, asm.Get(1), asm.MemoryGrow))
	calls := program(
		asm.Cat(asm.Get(0), asm.Call(1), asm.Get(1), asm.Call(2), asm.I32Add, asm.GlobalGet(0), asm.I32Add),
		asm.Func{Params: []byte{asm.I32}, Results: []byte{asm.I32}, Code: asm.Cat(asm.Get(0), asm.I32Const(3), asm.I32Mul)},
		asm.Func{Params: []byte{asm.I32}, Results: []byte{asm.I32}, Code: asm.Cat(
			asm.Get(0), asm.GlobalSet(0), asm.Get(0), asm.I32Eqz, asm.If, asm.Unreachable, asm.End, asm.Get(0), asm.Call(1))},
	)
	started := calls
	started.Start = 3
	started.Funcs = append(started.Funcs, asm.Func{Code: asm.Cat(asm.I32Const(40), asm.GlobalSet(0))})
	mib := uint64(1 << 20)
	for _, test := range []struct {
		name   string
		module asm.Module
		args   [3]uint64
	}{
		{"copy short", copies, [3]uint64{100, 8, 9}},
		{"copy nothing", copies, [3]uint64{0, 0, 0}},
		{"copy exactly a chunk", copies, [3]uint64{2 * mib, 0, mib}},
		{"copy long", copies, [3]uint64{3*mib + 1, 4, mib + mib/2}},
		{"copy upwards, overlapping", copies, [3]uint64{12, 4, 3*mib + 5}},
		{"copy upwards, overlapping by chunks", copies, [3]uint64{mib, 0, 3 * mib}},
		{"copy downwards, overlapping", copies, [3]uint64{4, 12, 3*mib + 5}},
		{"copy onto itself", copies, [3]uint64{4, 4, 3 * mib}},
		{"fill short", fills, [3]uint64{100, 8, 9}},
		{"fill long", fills, [3]uint64{5, 255, 4*mib + 1}},
		{"clear long", fills, [3]uint64{5, 0, 4*mib + 1}},
		{"clear whole parts", fills, [3]uint64{4096, 0, 64*4096 + 4096}},
		{"clear what is zero mostly", clears, [3]uint64{7, 0, 4*mib + 1}},
		{"clear, only the lowest byte counts", clears, [3]uint64{7, 0x5500, 4*mib + 1}},
		{"clear everything", clears, [3]uint64{0, 0, 80 << 16}},
		{"fill after zeros", clears, [3]uint64{7, 3, 4*mib + 1}},
		{"init short", inits, [3]uint64{100, 1, 9}},
		{"init long", inits, [3]uint64{100, 4, 2 * mib}},
		{"grow", grows, [3]uint64{3, 5, 0}},
		{"grow too much", grows, [3]uint64{1000, 5, 0}},
		{"calls", calls, [3]uint64{5, 6, 0}},
		{"calls and trap", calls, [3]uint64{5, 0, 0}},
		{"start function", started, [3]uint64{5, 6, 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			want, got := both(t, test.module, "f", test.args[:]...)
			if diff := cmp.Diff(want.Results, got.Results); diff != "" || want.Trap != got.Trap {
				t.Errorf("results %s, trap %q instead of %q", diff, got.Trap, want.Trap)
			}
			if want.Memory != got.Memory {
				t.Error("the memories differ")
			}
		})
	}
}

func TestOutOfBoundsStillTraps(t *testing.T) {
	for name, op := range map[string][]byte{"copy": asm.MemoryCopy, "fill": asm.MemoryFill} {
		for _, args := range [][]uint64{
			{80<<16 - 4, 0, 8},
			{80 << 16, 0, 1},
			{0, 80<<16 - 4, 1 << 23},
			{1 << 20, 0, 1<<32 - 1},
			{1<<32 - 1, 0, 1 << 21},
			{1<<32 - 65536, 4, 1 << 21},
			{80<<16 + 1, 0, 0},
			{1 << 20, 256, 1<<32 - 1},
			{1<<32 - 65536, 256, 1 << 21},
		} {
			t.Run(fmt.Sprint(name, args), func(t *testing.T) {
				want, got := both(t, program(asm.Cat(asm.Get(0), asm.Get(1), asm.Get(2), op, asm.I32Const(1))), "f", args...)
				if want.Trap == "" || got.Trap != want.Trap {
					t.Errorf("trap %q instead of %q", got.Trap, want.Trap)
				}
			})
		}
	}
}

func TestTables(t *testing.T) {
	m := asm.Module{
		Memory: []uint32{1},
		Funcs: []asm.Func{
			{Export: "f", Results: []byte{asm.I32}, Code: asm.Cat(
				asm.I32Const(2), []byte{0xd2, 2}, asm.I32Const(3), asm.Bulk(17, 0), // table.fill 2..4 with function 2
				asm.I32Const(6), asm.I32Const(0), asm.I32Const(1), asm.Bulk(12, 1, 0), // table.init 6 from segment 1
				asm.I32Const(7), asm.I32Const(3), asm.I32Const(2), asm.Bulk(14, 0, 0), // table.copy 7..8 from 3..4
				[]byte{0xd0, 0x70}, asm.I32Const(5), asm.Bulk(15, 0), // table.grow by 5: 10
				asm.I32Const(0), asm.CallIndirect(0), asm.I32Add,
				asm.I32Const(4), asm.CallIndirect(0), asm.I32Add,
				asm.I32Const(6), asm.CallIndirect(0), asm.I32Add,
				asm.I32Const(8), asm.CallIndirect(0), asm.I32Add,
			)},
			{Results: []byte{asm.I32}, Code: asm.I32Const(100)},
			{Results: []byte{asm.I32}, Code: asm.I32Const(1000)},
			{Results: []byte{asm.I32}, Code: asm.I32Const(10000)},
		},
		Tables:   [][]byte{{0x70, 0, 10}},
		Elements: [][]byte{{0, 0x41, 0, 0x0b, 1, 1}, {1, 0, 1, 3}, {3, 0, 1, 2}},
	}
	want, got := both(t, m, "f")
	if diff := cmp.Diff([]uint64{10 + 100 + 1000 + 10000 + 1000}, got.Results); diff != "" || want.Trap+got.Trap != "" {
		t.Errorf("%s, traps %q and %q", diff, want.Trap, got.Trap)
	}
	if p, err := prepared(m.Encode()); err != nil || p.Cloneable {
		t.Errorf("cloneable, though it changes its table; error %v", err)
	}
}

func TestTablesAreBounded(t *testing.T) {
	grow := asm.Module{
		Memory: []uint32{1}, Tables: [][]byte{{0x70, 0, 1}},
		Funcs: []asm.Func{{Export: "f", Params: []byte{asm.I32}, Results: []byte{asm.I32}, Code: asm.Cat([]byte{0xd0, 0x70}, asm.Get(0), asm.Bulk(15, 0))}},
	}
	_, got := both(t, grow, "f", maxElements)
	if diff := cmp.Diff([]uint64{1<<32 - 1}, got.Results); diff != "" {
		t.Error(diff)
	}
}

func TestYields(t *testing.T) {
	spin := asm.Cat(asm.Loop, asm.Br(0), asm.End, asm.I32Const(0))
	long := asm.Repeat(maxRegion/2, 0x01) // nops
	for _, test := range []struct {
		name   string
		module asm.Module
	}{
		{"empty loop", program(spin)},
		{"loop of calls", program(asm.Cat(asm.Loop, asm.Call(1), asm.Br(0), asm.End, asm.I32Const(0)), asm.Func{})},
		{"recursion", program(asm.Cat(asm.Get(0), asm.Get(0), asm.Get(0), asm.Call(0)))},
		{"two recursions", program(asm.Cat(asm.Call(1), asm.I32Const(0)), asm.Func{Code: asm.Call(2)}, asm.Func{Code: asm.Call(1)})},
		{"recursion by table", func() asm.Module {
			m := program(asm.Cat(asm.Call(1), asm.I32Const(0)), asm.Func{Code: asm.Cat(asm.I32Const(0), asm.CallIndirect(1))})
			m.Tables, m.Elements = [][]byte{{0x70, 0, 1}}, [][]byte{{0, 0x41, 0, 0x0b, 1, 1}}
			return m
		}()},
		{"long loop", program(asm.Cat(asm.Loop, long, asm.Br(0), asm.End, asm.I32Const(0)))},
		{"nested loops", program(asm.Cat(asm.Loop, asm.Loop, asm.Get(0), asm.BrIf(0), asm.End, asm.Br(0), asm.End, asm.I32Const(0)))},
		{"fill", program(asm.Cat(asm.Loop, asm.I32Const(0), asm.I32Const(1), asm.I32Const(80<<16), asm.MemoryFill, asm.Br(0), asm.End, asm.I32Const(0)))},
		{"grow", program(asm.Cat(asm.Loop, asm.I32Const(0), asm.MemoryGrow, asm.Drop, asm.Br(0), asm.End, asm.I32Const(0)))},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRunner(t, false)
			r.max = 20
			if err := r.prepared(test.module.Encode()); err != nil {
				t.Fatal(err)
			}
			got := r.call("f", 0, 0, 0)
			stopped := strings.HasPrefix(got.Trap, "spent")
			overflow := strings.Contains(got.Trap, "stack overflow") && got.yields > 0
			if !stopped && !overflow {
				t.Errorf("trap %q after %d yields", got.Trap, got.yields)
			}
		})
	}
}

func TestLongBulkInstructionsYieldOften(t *testing.T) {
	for name, op := range map[string][]byte{"copy": asm.MemoryCopy, "fill": asm.MemoryFill} {
		for _, dst := range []uint64{0, 8} {
			_, got := both(t, program(asm.Cat(asm.Get(0), asm.Get(1), asm.Get(2), op, asm.I32Const(1))), "f", dst, 4, 79<<16)
			if least := 79 << 16 >> bytesShift / Budget; got.yields < least {
				t.Errorf("%s: %d yields in 79 pages, expected %d at least", name, got.yields, least)
			}
		}
	}
}

func TestPrepareRefuses(t *testing.T) {
	twoMemories := program(asm.I32Const(0)).Encode()
	for _, test := range []struct {
		name string
		wasm []byte
		kind error
		want string
	}{
		{"unknown function", program(asm.Cat(asm.Call(1), asm.I32Const(0))).Encode(), ErrMalformed, "unknown function 1"},
		{"the counter", program(asm.Cat(asm.I64Const(1<<40), asm.GlobalSet(1), asm.I32Const(0))).Encode(), ErrMalformed, "unknown global 1"},
		{"unknown type", program(asm.Cat(asm.I32Const(0), asm.CallIndirect(1))).Encode(), ErrMalformed, "unknown type 1"},
		{"unknown block type", program(asm.Cat([]byte{0x02, 1}, asm.End, asm.I32Const(0))).Encode(), ErrMalformed, "unknown type 1"},
		{"element of an unknown function", func() []byte {
			m := program(asm.I32Const(0))
			m.Tables, m.Elements = [][]byte{{0x70, 0, 1}}, [][]byte{{0, 0x41, 0, 0x0b, 1, 1}}
			return m.Encode()
		}(), ErrMalformed, "unknown function 1"},
		{"reserved export", program(asm.I32Const(0), asm.Func{Export: "kopf:start"}).Encode(), ErrFeature, "kopf:start"},
		{"too many locals", func() []byte {
			m := program(asm.I32Const(0))
			m.Funcs[0].Locals = asm.Repeat(maxLocals+1, asm.I32)
			return m.Encode()
		}(), ErrLimit, "50001 locals"},
		{"too long", program(asm.Cat(asm.Repeat(maxRegion+1, 0x01), asm.I32Const(0))).Encode(), ErrLimit, "straight code of cost"},
		{"many blocks", program(asm.Cat(asm.Repeat(30_000, asm.Cat(asm.Block, asm.End)...), asm.I32Const(0))).Encode(), ErrLimit, "too complex to be compiled"},
		{"many blocks over many locals", func() []byte {
			m := program(asm.Cat(asm.Repeat(4_000, asm.Cat(asm.Block, asm.End)...), asm.I32Const(0)))
			m.Funcs[0].Locals = asm.Repeat(1_000, asm.I32)
			return m.Encode()
		}(), ErrLimit, "too complex: 4000 blocks with 1003 local variables"},
		{"many locals in many functions", func() []byte {
			many := program(asm.I32Const(0))
			for range maxTotal/maxLocals + 1 {
				many.Funcs = append(many.Funcs, asm.Func{Locals: asm.Repeat(maxLocals, asm.I32)})
			}
			return many.Encode()
		}(), ErrLimit, "local variables in all functions"},
		{"huge branch tables", program(asm.Cat(asm.Repeat(30, asm.Cat(asm.Block, asm.I32Const(0), []byte{opBrTable}, asm.U32(maxLabels), asm.Repeat(maxLabels+1, 0), asm.End)...), asm.I32Const(0))).Encode(), ErrLimit, "too complex to be compiled"},
		{"a huge branch table", program(asm.Cat(asm.I32Const(0), []byte{opBrTable}, asm.U32(maxLabels+1), asm.Repeat(maxLabels+2, 0))).Encode(), ErrLimit, "65521 labels; at most 65520"},
		{"big table", func() []byte {
			m := program(asm.I32Const(0))
			m.Tables = [][]byte{asm.Cat([]byte{0x70, 0}, asm.U32(maxElements+1))}
			return m.Encode()
		}(), ErrLimit, "table 0 has 1048577 elements"},
		{"many tables", func() []byte {
			m := program(asm.I32Const(0))
			for range maxTables + 1 {
				m.Tables = append(m.Tables, []byte{0x70, 0, 1})
			}
			return m.Encode()
		}(), ErrLimit, "9 tables"},
		{"wide types", program(asm.I32Const(0), asm.Func{Params: asm.Repeat(maxParams+1, asm.I32)}).Encode(), ErrLimit, "item 1: over a limit: a type with 257 parameters or results; at most 256"},
		{"shared memory", asm.Cat(twoMemories[:8], asm.Section(5, []byte{1, 3, 1, 1})), ErrFeature, "threads"},
		{"memory64", asm.Cat(twoMemories[:8], asm.Section(5, []byte{1, 4, 1})), ErrFeature, "memory64"},
		{"two memories", asm.Cat(twoMemories[:8], asm.Section(5, []byte{2, 0, 1, 0, 1})), ErrFeature, "multi-memory"},
		{"tags", asm.Cat(twoMemories[:8], asm.Section(13, []byte{0})), ErrFeature, "exceptions"},
		{"section twice", asm.Cat(twoMemories[:8], asm.Section(5, []byte{1, 0, 1}), asm.Section(5, []byte{1, 0, 1})), ErrMalformed, "memory section twice"},
		{"unknown section", asm.Cat(twoMemories[:8], asm.Section(99, nil)), ErrMalformed, "section 99"},
		{"code without functions", asm.Cat(twoMemories[:8], asm.Section(10, []byte{1, 2, 0, 0x0b})), ErrMalformed, "0 functions, but 1 bodies"},
		{"lengths that lie", asm.Cat(twoMemories[:8], []byte{1, 0xff, 0xff, 0xff, 0x0f}), ErrMalformed, "unexpected end"},
		{"more items than bytes", asm.Cat(twoMemories[:8], asm.Section(1, asm.U32(1<<31))), ErrMalformed, "more items than bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := prepared(test.wasm)
			if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want %v: %q", err, test.kind, test.want)
			}
		})
	}
}

func TestErrorsNameFunctions(t *testing.T) {
	m := program(asm.I32Const(0), asm.Func{Code: []byte{0xfb}})
	m.Names = asm.Cat([]byte{1}, asm.Sized(asm.Vector([][]byte{asm.Cat([]byte{1}, asm.Name("culprit"))})))
	if _, err := prepared(m.Encode()); err == nil || !strings.Contains(err.Error(), "function 1 (culprit): ") {
		t.Errorf("error = %v", err)
	}
}

func TestSavedModules(t *testing.T) {
	s, err := Parse(program(asm.I32Const(0)).Encode())
	if err != nil {
		t.Fatal(err)
	}
	want, err := s.Prepare(testLimits)
	if err != nil {
		t.Fatal(err)
	}
	saved := want.Save("a")
	got, err := s.Restore(saved, "a", testLimits)
	if err != nil {
		t.Fatal(err)
	}
	want.Wasm, want.Canonical = nil, nil // are not restored
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := s.Restore(saved, "b", testLimits); !errors.Is(err, ErrSaved) {
		t.Errorf("what was saved of another module: %v", err)
	}
	for i := range saved {
		broken := append([]byte{}, saved...)
		broken[i] ^= 1
		if _, err := s.Restore(broken, "a", testLimits); !errors.Is(err, ErrSaved) {
			t.Fatalf("a flipped bit at %d of %d: %v", i, len(saved), err)
		}
	}
	if _, err := s.Restore(saved[:10], "a", testLimits); !errors.Is(err, ErrSaved) {
		t.Errorf("a cut file: %v", err)
	}
}

// TestShell: a shell has all but the code, and tells which code it is without.
func TestShell(t *testing.T) {
	wasm := program(asm.I32Const(0)).Encode()
	full, err := prepared(wasm)
	if err != nil {
		t.Fatal(err)
	}
	other, err := prepared(program(asm.I32Const(1)).Encode())
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(full.Shell, other.Shell) {
		t.Error("modules with other code have the same shell")
	}
	a, err := Parse(full.Wasm)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Parse(full.Shell)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a.Exports(), b.Exports(), cmp.AllowUnexported(Export{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(a.Imports(), b.Imports(), cmp.AllowUnexported(Import{})); diff != "" {
		t.Error(diff)
	}
	if first := b.bin[b.code[0].begin:b.code[0].end]; len(b.code) != len(a.code) || !bytes.Equal(first, []byte{0, opUnreachable, opEnd}) {
		t.Errorf("%d bodies, the first one %x", len(b.code), first)
	}
	for _, broken := range [][]byte{nil, wasm[:4], wasm[:len(wasm)-1], append([]byte("\x00asm\x01\x00\x00\x00"), 10, 1, 5)} {
		if shell, err := Shell(broken); !errors.Is(err, ErrMalformed) {
			t.Errorf("%x: %x, %v", broken, shell, err)
		}
	}
}

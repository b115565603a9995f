package prepare

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// function is a module whose f(n, m i32) -> i32 has two more local variables, of which 2 is returned.
func function(code ...[]byte) asm.Module {
	return asm.Module{
		Memory: []uint32{1},
		Funcs: []asm.Func{
			{Export: "f", Params: []byte{asm.I32, asm.I32}, Results: []byte{asm.I32}, Locals: []byte{asm.I32, asm.I32}, Code: asm.Cat(asm.Cat(code...), asm.Get(2))},
			{Params: []byte{asm.I32}, Results: []byte{asm.I32}, Code: asm.Cat(asm.Get(0), asm.I32Const(3), asm.I32Mul)},
		},
	}
}

// add adds a number to a local variable.
func add(local uint32, n int32) []byte {
	return asm.Cat(asm.Get(local), asm.I32Const(n), asm.I32Add, asm.Set(local))
}

// reaches leaves whether local 3 has reached n, which is local 0, after it was counted up.
func reaches() []byte {
	return asm.Cat(add(3, 1), asm.Get(3), asm.Get(0), []byte{0x4f}) // i32.ge_u
}

// TestShortLoops: loops do the same when their code is written several times, whatever
// leaves them, and after whatever number of iterations.
func TestShortLoops(t *testing.T) {
	get, i32 := asm.Get, asm.I32Const
	odd := asm.Cat(get(3), i32(1), asm.I32And)
	withResult := []byte{0x03, asm.I32}
	for name, code := range map[string][]byte{
		"branch back at the end":     asm.Cat(asm.Loop, add(2, 2), reaches(), asm.I32Eqz, asm.BrIf(0), asm.End),
		"branch out, and back":       asm.Cat(asm.Block, asm.Loop, reaches(), asm.BrIf(1), add(2, 2), asm.Br(0), asm.End, asm.End),
		"two ways back":              asm.Cat(asm.Block, asm.Loop, reaches(), asm.BrIf(1), odd, asm.BrIf(0), add(2, 2), asm.Br(0), asm.End, asm.End),
		"back out of blocks":         asm.Cat(asm.Block, asm.Loop, reaches(), asm.BrIf(1), asm.Block, asm.Block, odd, asm.BrIf(2), add(2, 2), asm.End, asm.Br(1), asm.End, asm.End, asm.End),
		"three blocks out":           asm.Cat(asm.Block, asm.Block, asm.Block, asm.Loop, add(2, 2), reaches(), asm.BrIf(3), odd, asm.BrIf(0), asm.Br(0), asm.End, asm.End, add(2, 100), asm.End, add(2, 1000), asm.End),
		"arms":                       asm.Cat(asm.Loop, odd, asm.If, add(2, 2), asm.Else, add(2, 7), asm.End, reaches(), asm.I32Eqz, asm.BrIf(0), asm.End),
		"back out of an arm":         asm.Cat(asm.Loop, add(2, 2), reaches(), asm.If, asm.Else, asm.Br(1), asm.End, asm.End),
		"a switch":                   asm.Cat(asm.Block, asm.Loop, asm.Block, asm.Block, reaches(), odd, asm.I32Add, []byte{opBrTable, 2, 0, 1, 3}, asm.End, add(2, 2), asm.Br(1), asm.End, add(2, 50), get(3), get(0), []byte{0x49}, asm.BrIf(0), asm.End, asm.End),
		"return":                     asm.Cat(asm.Loop, add(2, 2), reaches(), asm.If, get(2), i32(77), asm.I32Add, asm.Return, asm.End, asm.Br(0), asm.End),
		"calls":                      asm.Cat(asm.Loop, get(2), asm.Call(1), get(3), asm.I32Add, asm.Set(2), reaches(), asm.I32Eqz, asm.BrIf(0), asm.End),
		"bulk memory":                asm.Cat(asm.Loop, i32(8), get(3), i32(9), asm.MemoryFill, i32(10), asm.I32Load(), get(2), asm.I32Add, asm.Set(2), reaches(), asm.I32Eqz, asm.BrIf(0), asm.End),
		"a result at the end":        asm.Cat(withResult, add(2, 2), reaches(), asm.I32Eqz, asm.BrIf(0), get(2), i32(5), asm.I32Add, asm.End, asm.Set(2)),
		"a result out of the middle": asm.Cat([]byte{0x02, asm.I32}, withResult, add(2, 2), get(2), reaches(), asm.BrIf(1), asm.Drop, odd, asm.BrIf(0), get(2), get(1), asm.I32Add, asm.End, i32(9), asm.I32Mul, asm.End, asm.Set(2)),
		"one iteration":              asm.Cat(asm.Loop, add(2, 2), asm.End),
		"a trap":                     asm.Cat(asm.Loop, add(2, 2), reaches(), asm.If, get(2), asm.I32Const(0), []byte{0x6e}, asm.Set(2), asm.End, asm.Br(0), asm.End),
		"blocks of Go's compiler": asm.Cat(asm.Block, asm.Loop, asm.Block, asm.Block, asm.Block, get(1), []byte{opBrTable, 2, 0, 1, 2},
			asm.End, add(2, 2), odd, asm.If, i32(2), asm.Set(1), asm.Br(3), asm.End,
			asm.End, add(2, 7),
			asm.End, reaches(), asm.BrIf(1), i32(0), asm.Set(1), asm.Br(0), asm.End, asm.End),
		"in another loop": asm.Cat(asm.Loop, asm.Loop, add(2, 2), odd, reaches(), asm.I32Eqz, asm.I32And, asm.BrIf(0), asm.End, add(2, 3), get(3), get(0), []byte{0x49}, asm.BrIf(0), asm.End),
	} {
		t.Run(name, func(t *testing.T) {
			if p, err := prepared(function(code).Encode()); err != nil || bytes.Count(p.Wasm, add(2, 2)) != iterationsOfLoop && name != "calls" && name != "bulk memory" {
				t.Fatalf("the loop is there %d times: %v", bytes.Count(p.Wasm, add(2, 2)), err)
			}
			for n := range uint64(10) {
				original, rewritten := both(t, function(code), "f", n, 1000)
				original.yields, rewritten.yields = 0, 0
				if diff := cmp.Diff(original, rewritten, cmp.AllowUnexported(outcome{})); diff != "" {
					t.Errorf("n = %d: -original +prepared:\n%s", n, diff)
				}
			}
		})
	}
}

// TestShortLoopsAreCharged: an endless loop makes as many iterations between two calls of yield as
// its cost allows, and hardly fewer.
func TestShortLoopsAreCharged(t *testing.T) {
	const counted, nop = costLoad + costStore + 6, 0x01 // the code that counts the iterations in the memory, and the branch
	count := asm.Cat(asm.I32Const(0), asm.I32Const(0), asm.I32Load(), asm.I32Const(1), asm.I32Add, asm.I32Store())
	for _, more := range []int{0, 1, 10, shortLoop - counted - 1, shortLoop - counted, shortLoop - counted + 1, shortLoop, 200, 1000} {
		t.Run(fmt.Sprint(more), func(t *testing.T) {
			r := newRunner(t, false)
			r.max = 20
			if err := r.prepared(function(asm.Loop, count, asm.Repeat(more, nop), asm.Br(0), asm.End).Encode()); err != nil {
				t.Fatal(err)
			}
			out := r.call("f", 0, 0)
			iterations := int(binary.LittleEndian.Uint32([]byte(out.Memory)))
			spent, budget := iterations*(counted+more), (r.max+1)*Budget
			if spent > budget || spent < budget/2 {
				t.Errorf("%d iterations of %d with a budget of %d", iterations, counted+more, budget)
			}
		})
	}
}

// TestManyShortLoops: what is written several times takes the compiler little.
func TestManyShortLoops(t *testing.T) {
	loop := asm.Cat(asm.Loop, reaches(), asm.BrIf(0), asm.End)
	for _, test := range []struct {
		name  string
		funcs int
		loops int // of each
	}{{"in one function", 1, 10_000}, {"in many functions", 10_000, 10}, {"one in each function", 50_000, 1}} {
		t.Run(test.name, func(t *testing.T) {
			m := function()
			for range test.funcs {
				m.Funcs = append(m.Funcs, asm.Func{Params: []byte{asm.I32}, Locals: asm.Repeat(3, asm.I32), Code: asm.Repeat(test.loops, loop...)})
			}
			wasm := m.Encode()
			p, err := prepared(wasm)
			if err != nil {
				t.Fatal(err)
			}
			checks := test.funcs * (test.loops + 1) * 25
			if more := len(p.Wasm) - len(wasm) - checks; more > maxUnrolled/effortByte*2 {
				t.Errorf("%d bytes more", more)
			}
		})
	}
}

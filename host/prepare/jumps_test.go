package prepare

import (
	"math/rand"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// dispatching is code as of Go's compiler: a loop around basic blocks, which a table finds by the number in
// local variable 0.
func dispatching(blocks ...[]byte) []byte {
	out := asm.Cat(asm.Block, asm.Loop, asm.Repeat(len(blocks), asm.Block...), asm.Get(0), []byte{opBrTable}, asm.U32(uint32(len(blocks)-1)))
	for i := range blocks {
		out = append(out, byte(i))
	}
	for _, b := range blocks {
		out = asm.Cat(out, asm.End, b)
	}
	return asm.Cat(out, asm.End, asm.End)
}

// jump continues at a block, from code with so many open blocks within the loop.
func jump(to, open int) []byte {
	return asm.Cat(asm.I32Const(int32(to)), asm.Set(0), asm.Br(uint32(open)))
}

// if0 runs code if the lowest bit of local variable 1 is zero; the code has one more open block.
func if0(code []byte) []byte {
	return asm.Cat(asm.Get(1), asm.I32Const(1), asm.I32And, asm.I32Eqz, asm.If, code, asm.End)
}

// TestJumps: which jumps are led to their target.
func TestJumps(t *testing.T) {
	nop := asm.Repeat(1, 0x01)
	long := asm.Repeat(longPath, 0x01)
	wrongLocal := asm.Cat(asm.I32Const(2), asm.Set(1), asm.Br(2))
	unknown := asm.Cat(asm.Get(1), asm.Set(0), asm.Br(2))
	for name, test := range map[string]struct {
		code []byte
		want []uint32 // the new labels
	}{
		"to the next one":        {dispatching(jump(1, 2), nop, nop), []uint32{0}},
		"over one":               {dispatching(jump(2, 2), nop, nop), []uint32{1}},
		"in an if":               {dispatching(if0(jump(2, 4)), nop, nop, nop), []uint32{2}},
		"two":                    {dispatching(if0(jump(3, 4)), jump(3, 2), nop, nop), []uint32{3, 1}},
		"back":                   {dispatching(nop, nop, jump(1, 0)), nil},
		"to itself":              {dispatching(nop, jump(1, 1), nop), nil},
		"to the last one":        {dispatching(jump(99, 2), nop, nop), []uint32{1}},
		"to the last one, by -1": {dispatching(jump(-1, 2), nop, nop), []uint32{1}},
		"of another variable":    {dispatching(wrongLocal, nop, nop), nil},
		"of an unknown number":   {dispatching(unknown, nop, nop), nil},
		"after the variable":     {dispatching(asm.Cat(asm.I32Const(2), asm.Set(0), nop, asm.Br(2)), nop, nop), nil},
		"out of a loop":          {dispatching(asm.Cat(asm.Loop, jump(2, 3), asm.End), nop, nop), []uint32{2}},
		"to an inner loop":       {dispatching(asm.Cat(asm.Loop, jump(2, 0), asm.End), nop, nop), nil},
		"after a long path":      {dispatching(asm.Cat(long, jump(1, 2)), nop, nop), nil},
		"after the loop":         {asm.Cat(dispatching(nop, nop), jump(1, 0)), nil},
		"a loop of an interpreter": {asm.Cat(asm.Loop, asm.Block, asm.Block, asm.Get(1), []byte{opBrTable, 1, 0, 1}, asm.End,
			asm.I32Const(1), asm.Set(1), asm.Br(1), asm.End, asm.End), nil},
		"no table": {asm.Cat(asm.Loop, asm.Block, asm.Block, jump(1, 2), asm.End, asm.End, asm.End), nil},
		"something before the table": {asm.Cat(asm.Loop, asm.Block, asm.Block, asm.Get(1), asm.Set(2), asm.Get(0), []byte{opBrTable, 1, 0, 1},
			asm.End, jump(1, 1), asm.End, asm.End), nil},
	} {
		t.Run(name, func(t *testing.T) {
			var tr tracer
			r := newReader(asm.Cat(test.code, asm.End))
			tr.measure(r)
			var got []uint32
			for _, b := range tr.dispatch.direct {
				got = append(got, b.label)
			}
			if diff := cmp.Diff(test.want, got); diff != "" || r.Err != nil {
				t.Errorf("%v -want +got:\n%s", r.Err, diff)
			}
		})
	}
}

// TestJumpsGoTheSameWay compares random functions with the originals: what they do, and whether they
// are charged for it.
func TestJumpsGoTheSameWay(t *testing.T) {
	led := 0
	for seed := range int64(300) {
		rnd := rand.New(rand.NewSource(seed))
		code := randomBlocks(rnd)
		var tr tracer
		tr.measure(newReader(asm.Cat(code, asm.End)))
		led += len(tr.dispatch.direct)
		m := asm.Module{Memory: []uint32{1}, Funcs: []asm.Func{{
			Export: "f", Params: []byte{asm.I32, asm.I32}, Results: []byte{asm.I32}, Locals: []byte{asm.I32},
			Code: asm.Cat(code, asm.Get(2)),
		}}}
		original, rewritten := both(t, m, "f", uint64(rnd.Intn(3)), rnd.Uint64()>>32)
		if least := int(uint32(original.Results[0])) / Budget; rewritten.yields < least {
			t.Errorf("seed %d: %d yields for a cost of %d\n%x", seed, rewritten.yields, uint32(original.Results[0]), code)
		}
		rewritten.yields = 0
		if diff := cmp.Diff(original, rewritten, cmp.AllowUnexported(outcome{})); diff != "" {
			t.Errorf("seed %d: -original +prepared:\n%s\n%x", seed, diff, code)
		}
	}
	if led < 500 {
		t.Errorf("only %d jumps are led to their target", led)
	}
}

// randomBlocks are basic blocks with jumps. Local variable 2 counts the cost of their straight code; 1 has random
// bits, and the code ends when 2 is large.
func randomBlocks(rnd *rand.Rand) []byte {
	blocks := make([][]byte, 3+rnd.Intn(8))
	for i := range blocks {
		within := len(blocks) - 1 - i
		nops := rnd.Intn(40)
		code := asm.Cat(asm.Repeat(nops, 0x01), asm.Get(2), asm.I32Const(int32(nops)+1), asm.I32Add, asm.Set(2))
		code = asm.Cat(code, asm.Get(1), asm.I32Const(1103515245), asm.I32Mul, asm.I32Const(12345), asm.I32Add, asm.Set(1))
		code = asm.Cat(code, asm.Get(2), asm.I32Const(200_000), []byte{0x4f}, asm.BrIf(uint32(within+1))) // i32.ge_u: it ends
		switch rnd.Intn(4) {
		case 0:
			code = asm.Cat(code, jump(rnd.Intn(len(blocks)+1), within))
		case 1:
			code = asm.Cat(code, asm.Loop, if0(jump(rnd.Intn(len(blocks)), within+2)), asm.End)
		default:
			bit := asm.Cat(asm.Get(1), asm.I32Const(1<<(16+rnd.Intn(8))), asm.I32And, asm.If)
			code = asm.Cat(code, bit, jump(rnd.Intn(len(blocks)), within+1), asm.End)
		}
		blocks[i] = code
	}
	return dispatching(blocks...)
}

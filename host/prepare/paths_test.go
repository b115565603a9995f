package prepare

import (
	"math/rand"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// costsOf are the costs of the regions of a function body.
func costsOf(t testing.TB, code []byte) []int {
	t.Helper()
	r := newReader(asm.Cat(code, asm.End))
	regions, _ := measure(r)
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	costs := make([]int, len(regions))
	for i, g := range regions {
		costs[i] = g.cost
	}
	return costs
}

func TestPaths(t *testing.T) {
	nops := func(n int) []byte { return asm.Repeat(n, 0x01) }
	table := func(labels ...byte) []byte { // br_table over these, the last one by default
		return asm.Cat([]byte{opBrTable, byte(len(labels) - 1)}, labels)
	}
	for _, test := range []struct {
		name string
		code []byte
		want []int
	}{
		{"straight", nops(10), []int{10}},
		{"behind a return", asm.Cat(nops(10), asm.Return, nops(100)), []int{11}},
		{"behind unreachable", asm.Cat(nops(10), asm.Unreachable, nops(100)), []int{11}},
		{"the longer arm", asm.Cat(asm.If, nops(10), asm.Else, nops(100), asm.End), []int{101}},
		{"without an else", asm.Cat(asm.If, nops(10), asm.End, nops(5)), []int{16}},
		{"an arm that returns", asm.Cat(asm.If, nops(100), asm.Return, asm.Else, nops(10), asm.End, nops(50)), []int{102}},
		{"a switch", asm.Cat(asm.Block, asm.Block, asm.Block, table(0, 1, 2), asm.End,
			nops(100), asm.Br(1), asm.End, nops(30), asm.Br(0), asm.End, nops(3)), []int{1 + 100 + 1 + 3}},
		{"over a part", asm.Cat(asm.Block, asm.BrIf(0), nops(100), asm.Br(0), asm.End), []int{1 + 100 + 1}},
		{"loop", asm.Cat(nops(10), asm.Loop, nops(20), asm.BrIf(0), asm.End, nops(30)), []int{40, 21}},
		{"endless loop", asm.Cat(nops(10), asm.Loop, nops(20), asm.Br(0), asm.End, nops(300)), []int{10, 21}},
		{"nested loops", asm.Cat(asm.Loop, nops(1), asm.Loop, nops(20), asm.BrIf(1), asm.End, nops(5), asm.BrIf(0), asm.End), []int{0, 7, 21}},
		{
			"out of two loops", asm.Cat(asm.Block, nops(7), asm.Loop, asm.Loop, nops(20), asm.Br(2), asm.End, nops(500), asm.End, asm.End, nops(9)),
			[]int{7 + 9, 0, 21},
		},
		{"return out of a loop", asm.Cat(asm.Loop, nops(20), asm.Return, asm.End, nops(100)), []int{0, 21}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, costsOf(t, test.code)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestEntryChecks: a function needs none if it is small and calls nothing, or if it is
// a loop as a whole, whose check comes at each call too.
func TestEntryChecks(t *testing.T) {
	nops := func(n int) []byte { return asm.Repeat(n, 0x01) }
	loop := func(code ...[]byte) []byte { return asm.Cat(asm.Loop, asm.Cat(code...), asm.End) }
	for _, test := range []struct {
		name string
		code []byte
		want bool
	}{
		{"small", nops(smallFunction), false},
		{"large", nops(smallFunction + 1), true},
		{"calls", asm.Call(0), true},
		{"calls in a loop", loop(asm.Call(0)), false},
		{"calls in a loop, in blocks", asm.Cat(nops(3), asm.Block, asm.Block, loop(asm.Call(0)), asm.End, asm.End, nops(3)), false},
		{"much around a loop", asm.Cat(nops(9), loop(asm.Call(0)), nops(9)), true},
		{"calls before a loop", asm.Cat(asm.Call(0), loop()), true},
		{"calls behind a loop", asm.Cat(loop(), asm.Call(0)), true},
		{"perhaps a loop", asm.Cat(asm.If, loop(asm.Call(0)), asm.End), true},
		{"over a loop", asm.Cat(asm.Block, asm.BrIf(0), loop(asm.Call(0)), asm.End), true},
		{"the second loop", asm.Cat(asm.If, asm.End, loop(asm.Call(0))), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			regions, _ := measure(newReader(asm.Cat(test.code, asm.End)))
			if got := regions[0].checked(); got != test.want {
				t.Errorf("%v", got)
			}
		})
	}
}

// randomCode writes a random structured body; it needs no valid types.
func randomCode(rnd *rand.Rand, depth, size int) []byte {
	var out []byte
	for range rnd.Intn(size) + 1 {
		label := uint32(rnd.Intn(depth + 1))
		switch rnd.Intn(9) {
		case 0, 1, 2:
			out = append(out, asm.Repeat(rnd.Intn(20)+1, 0x01)...)
		case 3:
			out = append(out, asm.BrIf(label)...)
		case 4:
			out = append(out, asm.Cat([]byte{opBrTable, 1}, asm.U32(label), asm.U32(uint32(rnd.Intn(depth+1))))...)
		case 5:
			out = append(out, asm.Br(label)...)
		default:
			if depth > 5 {
				continue
			}
			open := [][]byte{asm.Block, asm.Loop, asm.If}[rnd.Intn(3)]
			out = append(out, asm.Cat(open, randomCode(rnd, depth+1, size/2+1))...)
			if open[0] == opIf && rnd.Intn(2) == 0 {
				out = append(out, asm.Cat(asm.Else, randomCode(rnd, depth+1, size/2+1))...)
			}
			out = append(out, opEnd)
		}
	}
	return out
}

// TestNoPathCostsMore walks through random programs at random, and compares what
// the way costs between two checks with what the check charges.
func TestNoPathCostsMore(t *testing.T) {
	for seed := range int64(3000) {
		rnd := rand.New(rand.NewSource(seed))
		code := randomCode(rnd, 0, 8)
		costs := costsOf(t, code)
		w := newWalker(asm.Cat(code, asm.End))
		for range 20 {
			if at, spent, region := w.walk(rnd, costs); spent > 0 {
				t.Fatalf("seed %d: a path to instruction %d costs %d in region %d, charged are %v\n%x", seed, at, spent, region, costs, code)
			}
		}
	}
}

// walker interprets the control flow of a body.
type walker struct {
	code  []instruction
	table [][]uint32 // targets of br_table
	end   []int      // of blocks: where their end is
	other []int      // of if: where its else or its end is
	loop  []int      // of loop: the number of its region
}

func newWalker(body []byte) *walker {
	w := &walker{}
	r := newReader(body)
	var open []int
	loops := 0
	for r.More() {
		in := r.instruction()
		i := len(w.code)
		w.code = append(w.code, *in)
		w.table = append(w.table, append([]uint32{}, in.labels...))
		w.end, w.other, w.loop = append(w.end, i), append(w.other, i), append(w.loop, 0)
		switch in.op {
		case opLoop:
			loops++
			w.loop[i] = loops
			open = append(open, i)
		case opBlock, opIf:
			open = append(open, i)
		case opElse:
			w.other[open[len(open)-1]] = i
		case opEnd:
			if len(open) > 0 {
				begin := open[len(open)-1]
				open = open[:len(open)-1]
				w.end[begin] = i
				if w.other[begin] == begin {
					w.other[begin] = i
				}
				if e := w.other[begin]; w.code[e].op == opElse {
					w.end[e] = i
				}
			}
		}
	}
	return w
}

// walk goes one way of at most 500 instructions. It returns where the way cost
// more than the region's check charged, and how much.
func (w *walker) walk(rnd *rand.Rand, costs []int) (at, spent, region int) {
	type open struct{ begin, region, before int }
	stack := []open{{begin: -1}}
	spent = 0
	pc := 0
	for range 500 {
		in := w.code[pc]
		spent += cost(&in)
		if spent > costs[region] {
			return pc, spent, region
		}
		branch := -1
		switch in.op {
		case opBlock, opIf, opLoop:
			stack = append(stack, open{pc, region, spent})
			if in.op == opLoop {
				region, spent = w.loop[pc], 0
			}
			if in.op == opIf && rnd.Intn(2) == 0 {
				pc = w.other[pc]
				if w.code[pc].op == opEnd {
					pc-- // the end is still to be passed
				}
			}
		case opElse: // the end of the first arm: its end is not an instruction of the path
			pc = w.end[pc] - 1
		case opEnd:
			top := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if len(stack) == 0 {
				return 0, 0, 0
			}
			if w.code[top.begin].op == opLoop {
				region, spent = top.region, top.before
			}
		case opBr:
			branch = int(in.a)
		case opBrIf:
			if rnd.Intn(2) == 0 {
				branch = int(in.a)
			}
		case opBrTable:
			branch = int(w.table[pc][rnd.Intn(len(w.table[pc]))])
		}
		if branch >= 0 {
			target := stack[len(stack)-1-branch]
			for i := len(stack) - 1; i > len(stack)-1-branch; i-- {
				if b := stack[i]; w.code[b.begin].op == opLoop {
					region, spent = b.region, b.before
				}
			}
			stack = stack[:len(stack)-branch]
			switch {
			case target.begin < 0:
				return 0, 0, 0
			case w.code[target.begin].op == opLoop:
				region, spent = w.loop[target.begin], 0
				pc = target.begin
			default:
				pc = w.end[target.begin] - 1
			}
		}
		pc++
	}
	return 0, 0, 0
}

package prepare

import (
	"math/rand"

	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// generator writes random programs that are valid: all values are of type i32,
// locals 0 to 4 are numbers. Half of its functions begin with code as of Go's compiler.
type generator struct {
	rnd   *rand.Rand
	depth int    // of labels
	next  uint32 // the first function that can be called: only later ones, so that nothing recurs
}

const generatedFuncs = 4

// generated is a module with an exported f, and helpers that call each other.
func generated(seed int64) asm.Module {
	g := &generator{rnd: rand.New(rand.NewSource(seed))}
	m := asm.Module{
		Memory:    []uint32{2, 4},
		Globals:   [][]byte{asm.Cat([]byte{asm.I32, 1}, asm.I32Const(7), asm.End)},
		Data:      []asm.Data{{Offset: 8, Bytes: "some data"}},
		DataCount: true,
		Passive:   [][]byte{[]byte("a passive segment")},
		Tables:    [][]byte{{asm.FuncRef, 1, 4, 8}},
	}
	for i := range uint32(generatedFuncs) {
		g.next = i + 1
		f := asm.Func{
			Params: []byte{asm.I32, asm.I32}, Results: []byte{asm.I32}, Locals: []byte{asm.I32, asm.I32, asm.I32, asm.I32},
		}
		if g.rnd.Intn(2) == 0 {
			f.Code = g.dispatching()
		}
		f.Code = asm.Cat(f.Code, g.statements(4), g.value(3))
		if i == 0 {
			f.Export = "f"
		}
		m.Funcs = append(m.Funcs, f)
	}
	m.Elements = [][]byte{{0, 0x41, 0, 0x0b, 2, generatedFuncs - 1, generatedFuncs - 2}}
	return m
}

// statements leave nothing on the stack.
func (g *generator) statements(size int) []byte {
	var out []byte
	for range g.rnd.Intn(size+1) + 1 {
		out = append(out, g.statement(size)...)
	}
	return out
}

func (g *generator) statement(size int) []byte {
	set := func() []byte { return asm.Set(uint32(g.rnd.Intn(5))) }
	small := func() []byte { return asm.I32Const(int32(g.rnd.Intn(300))) }
	switch kind := g.rnd.Intn(12); {
	case kind < 3:
		return asm.Cat(g.value(2), set())
	case kind == 3:
		return asm.Cat(g.address(), g.value(2), asm.I32Store())
	case kind == 4:
		return asm.Cat(g.value(2), asm.GlobalSet(0))
	case kind == 5:
		return asm.Cat(g.address(), g.value(1), small(), asm.MemoryFill)
	case kind == 6:
		return asm.Cat(g.address(), g.address(), small(), asm.MemoryCopy)
	case kind == 7:
		return asm.Cat(g.address(), asm.I32Const(1), asm.I32Const(int32(g.rnd.Intn(20))), asm.Bulk(8, 1, 0))
	case kind == 8:
		return asm.Cat(asm.I32Const(int32(g.rnd.Intn(2))), asm.MemoryGrow, set())
	case size < 1:
		return []byte{0x01}
	case kind == 9:
		return asm.Cat(g.value(1), asm.If, g.block(size), asm.Else, g.block(size), asm.End)
	case kind == 10:
		return asm.Cat(asm.Block, g.block(size), g.value(1), asm.BrIf(uint32(g.rnd.Intn(g.depth+1))), g.block(size), asm.End)
	}
	// A loop that ends: it counts local 4 down.
	return asm.Cat(asm.I32Const(int32(g.rnd.Intn(30))), asm.Set(4), asm.Loop, g.block(size),
		asm.Get(4), asm.I32Const(1), asm.I32Sub, asm.Set(4), asm.Get(4), asm.I32Const(0), []byte{0x4a}, asm.BrIf(0), asm.End)
}

// dispatching is code as of Go's compiler, with jumps from anywhere to anywhere. It ends: it counts local 5 up.
func (g *generator) dispatching() []byte {
	blocks := make([][]byte, 2+g.rnd.Intn(5))
	for i := range blocks {
		within := len(blocks) - 1 - i
		g.depth = 2 + within
		blocks[i] = asm.Cat(asm.Get(5), asm.I32Const(1), asm.I32Add, asm.Set(5), asm.Get(5), asm.I32Const(40), []byte{0x4a}, asm.BrIf(uint32(within+1)), g.statements(1))
		to := g.rnd.Intn(len(blocks) + 1)
		switch g.rnd.Intn(3) {
		case 0:
			blocks[i] = asm.Cat(blocks[i], jump(to, within))
		case 1:
			blocks[i] = asm.Cat(blocks[i], g.value(1), asm.If, jump(to, within+1), asm.End)
		}
	}
	g.depth = 0
	return dispatching(blocks...)
}

// block is the inside of a block.
func (g *generator) block(size int) []byte {
	g.depth++
	defer func() { g.depth-- }()
	return g.statements(size / 2)
}

// address leaves an address that mostly lies in the memory.
func (g *generator) address() []byte {
	if g.rnd.Intn(50) == 0 {
		return g.value(1)
	}
	return asm.Cat(g.value(1), asm.I32Const(0xffff), []byte{0x71})
}

// value leaves a number on the stack.
func (g *generator) value(depth int) []byte {
	if depth == 0 {
		return asm.Get(uint32(g.rnd.Intn(5)))
	}
	switch g.rnd.Intn(9) {
	case 0, 1:
		return asm.I32Const(int32(g.rnd.Intn(1000)) - 100)
	case 2:
		return asm.GlobalGet(0)
	case 3:
		return asm.Cat(g.address(), asm.I32Load())
	case 4:
		return asm.MemorySize
	case 5:
		if g.next < generatedFuncs {
			return asm.Cat(g.value(depth-1), g.value(depth-1), asm.Call(g.next+uint32(g.rnd.Intn(generatedFuncs-int(g.next)))))
		}
		return asm.Get(0)
	case 6:
		if g.next < generatedFuncs-2 {
			return asm.Cat(g.value(depth-1), g.value(depth-1), asm.I32Const(int32(g.rnd.Intn(5))), asm.CallIndirect(0))
		}
		return asm.Get(1)
	}
	ops := [...]byte{0x6a, 0x6b, 0x6c, 0x6d, 0x71, 0x72, 0x73, 0x46, 0x4a}
	return asm.Cat(g.value(depth-1), g.value(depth-1), []byte{ops[g.rnd.Intn(len(ops))]})
}

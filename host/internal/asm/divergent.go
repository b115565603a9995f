package asm

// hidden is `select (ref null 34); nop` to the engine's validator, and `select; local.tee 1` to its
// compilers: the heap type's bytes run without validation.
var hidden = []byte{0x1c, 1, 0x63, 0x22, 0x01}

// Blocks that the engine's validator reads differently from the rest of the engine.
var (
	hiddenEnd  = []byte{0x02, 0x63, 0x28, 0x00, 0x0b}
	hiddenLoop = []byte{0x02, 0x63, 0x28, 0x03, 0x40}
)

// Divergent lists guests that parts of the engine read differently, by their fault. A host that accepts
// one of them runs code that no validator has checked: they read addresses of the host, use numbers as addresses,
// and loop without a check.
func Divergent() map[string]Module {
	v128 := Cat([]byte{0xfd, 12}, make([]byte, 16))
	isNull := []byte{0x50} // i64.eqz
	leaked := divergent([]byte{FuncRef, I64}, []byte{0xd2, 0, 0xd2, 0}, I32Const(1), hidden, Drop, Get(1), isNull, If, Else, Unreachable, End)
	leaked.Elements = [][]byte{{1, 0, 1, 0}} // function 0 may be referenced
	forged := divergent([]byte{I64, FuncRef}, I64Const(0x4141414141), I64Const(0x4141414141), I32Const(1), hidden, Drop,
		I32Const(0), Get(1), []byte{0x26, 0}, I32Const(0), CallIndirect(0)) // table.set
	forged.Tables = [][]byte{{FuncRef, 0, 1}}
	locals := divergent(nil)
	locals.Funcs[FirstMore].Raw = Cat([]byte{2, 0x01, 0x63, 0x04, 0x01, 0x63, 0x28}, []byte{0x03, 0x40}, Br(0), hiddenEnd, Drop, End, End)
	return map[string]Module{
		"select runs an instruction": divergent([]byte{I32, I32}, I32Const(7), I32Const(7), I32Const(1), hidden, Drop,
			Get(1), If, Unreachable, End),
		"select leaks an address":  leaked,
		"select forges an address": forged,
		"vector opcode": divergent(nil, I32Const(0), If, v128, I32Const(0), []byte{0xfd, 0x8c, 0x00},
			[]byte{0x0b, 0x03, 0x40, 0x0c, 0x00, 0x0b, 0x02, 0x40, 1, 1, 1, 1, 1, 1, 1, 1}, End),
		"block types": divergent(nil, Block, I32Const(1), BrIf(0), hiddenEnd, Drop, End,
			hiddenLoop, Br(0), End, Unreachable, End, Drop),
		"types of locals": locals,
	}
}

// divergent is a guest whose kopf_start calls one function, with more than 50 types.
func divergent(locals []byte, code ...[]byte) Module {
	g := Guest(Call(FirstMore), Func{Locals: locals, Code: Cat(code...)})
	for i := range 50 {
		g.Funcs = append(g.Funcs, Func{Params: Repeat(i+4, I32)})
	}
	return g
}

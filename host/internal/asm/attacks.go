package asm

import "maps"

// Local variables of attacks: an address or a number, and a long one.
const (
	at   = 0
	long = 1
)

const (
	attackPages = 4000 // of memory; most of it is used
	attackMask  = 128<<20 - 4
)

// Attacks are modules whose export f tries to stay in machine code for as long as
// possible, each with another slow instruction.
func Attacks() map[string]Module {
	table := forever(I32Const(0), []byte{0xd0, 0x70}, I32Const(1<<20), Bulk(17, 0))
	table.Tables = [][]byte{Cat([]byte{0x70, 0}, U32(1<<20))}
	indirect := forever(times(100, I32Const(0), CallIndirect(1)))
	indirect.Tables, indirect.Elements = [][]byte{{0x70, 0, 1}}, [][]byte{{0, 0x41, 0, 0x0b, 1, 1}}
	wide := forever(times(20, times(attackParams, Get(at)), Call(2)))
	wide.Funcs = append(wide.Funcs, Func{Params: Repeat(attackParams, I32)})
	all := map[string]Module{
		"empty loop":  forever(),
		"calls":       forever(times(100, Call(1))),
		"wide calls":  wide,
		"indirect":    indirect,
		"fill":        forever(I32Const(0), I32Const(1), I32Const(128<<20), MemoryFill),
		"zero":        forever(I32Const(0), I32Const(0), I32Const(128<<20), MemoryFill),
		"copy":        forever(I32Const(0), I32Const(64<<20+7), I32Const(64<<20), MemoryCopy),
		"small fills": forever(times(100, I32Const(0), I32Const(1), I32Const(15), MemoryFill)),
		"table.fill":  table,
		"memory.grow": forever(I32Const(0), MemoryGrow, Drop),
	}
	maps.Copy(all, memoryAttacks())
	maps.Copy(all, unitAttacks())
	return all
}

// attackParams is the maximum number of parameters of a function.
const attackParams = 256

// forever is a module that repeats the code.
func forever(parts ...[]byte) Module { return after(nil, parts...) }

// after is a module that runs the first code once, and then repeats the second one.
func after(first []byte, parts ...[]byte) Module {
	code := Cat(first, Loop, Cat(parts...), Br(0), End, I32Const(0))
	return Module{
		Memory: []uint32{attackPages},
		Funcs:  []Func{{Export: "f", Results: []byte{I32}, Locals: []byte{I32, I64}, Code: code}, {}},
	}
}

func times(n int, parts ...[]byte) []byte { return Repeat(n, Cat(parts...)...) }

// memoryAttacks miss caches, and touch memory for the first time.
func memoryAttacks() map[string]Module {
	mask := Cat(I32Const(attackMask), I32And)
	store := Cat(Get(at), Get(at), I32Store())
	next := func(step int32) []byte { return Cat(Get(at), I32Const(step), I32Add) }
	chase := Cat(Get(at), I32Load(), I32Const(1103515245), I32Add, Get(at), I32Const(69069), I32Mul, I32Add, mask, Set(at))
	touch := Cat(store, next(4096), mask, Set(at))
	scatter := Cat(store, Get(at), I32Const(1664525), I32Mul, I32Const(4*1013904223&attackMask), I32Add, mask, Set(at))
	// Each line of the cache holds the address of another one, far away, all in one cycle.
	line := Cat(I32Const(attackMask&^63), I32And)
	chain := Cat(
		Loop,
		Get(at), Get(at), I32Const(1664525), I32Mul, I32Const(64*1013904223&attackMask), I32Add, line, I32Store(),
		next(64), line, Tee(at), BrIf(0),
		End,
	)
	// Unaligned: each lies on two pages.
	var straight []byte
	for i := range int32(8000) {
		straight = append(straight, Cat(I32Const(i*8192+4093), I64Const(1), I64Store())...)
	}
	return map[string]Module{
		"cache misses":    forever(times(100, chase)),
		"short loop":      forever(chase),
		"chain of misses": after(chain, Get(at), times(1000, I32Load()), Set(at)),
		"pages":           forever(times(100, touch)),
		"pairs of pages":  forever(straight),
		"scattered":       forever(times(100, scatter)),
	}
}

// unitAttacks use the slowest instructions of the processor.
func unitAttacks() map[string]Module {
	divide := Cat(I64Const(-1), Get(long), I64Const(3), []byte{0x84, 0x80}, Set(long)) // i64.or, i64.div_u
	root := Cat(Get(long), []byte{0xbf, 0x9f, 0xbd}, Set(long))                        // f64.reinterpret, sqrt, back
	vector := func(op uint32) []byte {
		return Cat(Get(long), []byte{0xfd, 18}, Get(long), []byte{0xfd, 18, 0xfd}, U32(op), []byte{0xfd, 29, 0}, Set(long))
	}
	return map[string]Module{
		"divisions":   forever(times(100, divide)),
		"roots":       forever(times(100, root)),
		"vectors mul": forever(times(100, vector(0xd5))),
		"vectors div": forever(times(100, vector(0xf3))),
	}
}

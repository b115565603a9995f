package prepare

// Budget is the cost that a guest may spend between two calls of yield. With the costs
// below that is 0.01 ms of a tight loop, 0.1 ms of most code, and some milliseconds of
// the worst known code, which misses all caches: `make bench-engine`
// measures it. The time in which the system provides memory at its first touch comes on top; package
// linear bounds it. A smaller budget would cost too much: yielding takes 0.15 microseconds,
// 1 % of the time of a tight loop.
const Budget = 100_000

// Costs are in units of about one nanosecond. The cost of an instruction is that in
// code of an attacker; that of a call includes the caller and a small callee.
const (
	costPlain    = 1
	costCheck    = 4  // a check itself
	costLoad     = 8  // may miss all caches
	costStore    = 4  // may miss all caches
	costDivide   = 8  // integer division, square root, rounding
	costIndirect = 24 // call_indirect
	costCall     = 20 // includes smallFunction

	// smallFunction is the cost up to which a function without calls is not
	// charged by itself, but by its callers.
	smallFunction = 16

	costGrow   = 50_000  // one memory.grow or table.grow
	bytesShift = 4       // bulk memory: 16 bytes a unit
	elemsShift = 0       // bulk tables: one element a unit
	chunk      = 1 << 20 // bulk memory: bytes between two checks

	minCleared  = 64 << 10 // memory.fill with zero: larger ranges are read before they are written
	clearedPart = 4 << 10  // bytes that are read and written at once
	lookedAt    = 64       // bytes that one iteration of the reading loop reads
	costLook    = 16       // cost of such an iteration
)

// maxRegion is the cost of the longest path between two checks. A Go guest of
// 3.5 MB has nothing above 25,000; what initialises k8s.io/api/core/v1, which most operators in Go
// use, has 185,000.
const maxRegion = 250_000

// cost is the charge of one instruction.
func cost(in *instruction) int {
	switch op := in.op; {
	case op == opBlock, op == opLoop, op == opElse, op == opEnd:
		return 0
	case op == opCall:
		return costCall
	case op == opCallIndirect:
		return costIndirect
	case op >= 0x28 && op <= 0x35:
		return costLoad
	case op >= 0x36 && op <= 0x3e:
		return costStore
	case op >= 0x6d && op <= 0x70, op >= 0x7f && op <= 0x82: // integer division
		return costDivide
	case op >= 0x8d && op <= 0x95, op >= 0x9b && op <= 0xa3: // ceil … sqrt, division
		return costDivide
	case op == opMemoryGrow, op == opPrefixBulk:
		return costCall // of the helper, which charges the rest
	case op == opPrefixSIMD:
		return costDivide
	}
	return costPlain
}

// localsShift is how many locals cost one unit at the entry of their function.
const localsShift = 2

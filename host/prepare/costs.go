package prepare

// Budget is what a guest may spend between two calls of yield. With the costs
// below it is about half a millisecond of ordinary code, and at most 5 ms of the worst
// code that we could think of (BenchmarkWorstSlice in package host).
const Budget = 5_000_000

// Costs are in units of about one nanosecond. An instruction is charged what it
// may cost if an attacker writes it, a call what the caller and a small callee cost.
const (
	costPlain    = 1
	costLoad     = 4  // may miss all caches
	costStore    = 4  // may be the first touch of a page
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
)

// maxRegion is the cost that straight code may have between two checks.
const maxRegion = 500_000

// cost is the charge of one instruction.
func cost(in instruction) int {
	switch op := in.op; {
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

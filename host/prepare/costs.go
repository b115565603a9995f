package prepare

// Budget is what a guest may spend between two calls of yield. With the costs
// below it is about half a millisecond of ordinary code, and at most 5 ms of the worst
// code that we could think of (BenchmarkWorstSlice in package host).
const Budget = 500_000

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

// region is straight code: that of a function without its loops, or that of one
// turn of a loop without inner loops. Each instruction in it runs at most once
// after the region's check, since all ways back lead over a loop header.
type region struct {
	cost  int
	calls bool
}

// measure finds the regions of a body: the function's at first, then those of
// its loops in order of appearance; and its shape, but for the locals. The reader stands behind them.
func measure(r *reader) (regions []region, s shape) {
	regions = []region{{}}
	open := []int{0} // the region of each open block
	for r.more() {
		in := r.instruction()
		current := open[len(open)-1]
		regions[current].cost += cost(in)
		s.add(in)
		switch in.op {
		case opBlock, opIf:
			open = append(open, current)
		case opLoop:
			open = append(open, len(regions))
			regions = append(regions, region{})
		case opEnd:
			if open = open[:len(open)-1]; len(open) == 0 {
				return closeFunction(r, regions), s
			}
		case opCall, opCallIndirect:
			regions[0].calls = true
		}
	}
	r.fail("function without an end")
	return nil, s
}

func closeFunction(r *reader, regions []region) []region {
	if r.err == nil && r.pos != len(r.buf) {
		r.fail("bytes after the end of a function")
	}
	return regions
}

// localsShift is how many locals cost one unit at the entry of their function.
const localsShift = 2

// checked tells whether the function needs a check at its entry.
func (fn region) checked() bool { return fn.calls || fn.cost > smallFunction }

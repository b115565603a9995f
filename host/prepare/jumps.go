package prepare

import (
	"cmp"
	"slices"

	"github.com/kopf-wasm/kopf/host/internal/wasm"
)

// Go's compiler makes a loop of each function, with a table that jumps to the basic block of a number:
//
//	loop
//	  block … block       ;; one for each basic block: its code follows the end
//	    local.get $next   ;; the parameter of the function, 0 in a call
//	    br_table …
//	  end
//	  …
//	  i32.const 7
//	  local.set $next
//	  br $loop            ;; a jump, as of an if
//	  …
//	end
//
// So each if takes the check of the loop and the table. A jump whose target follows is led there directly. But each
// iteration is charged for the longest path, so jumps keep their way through the loop where that has become long.
//
// The table jumps to the first block in most cases: whenever the function is called. A test for it comes before the table.

// dispatched is the local variable with the number of the block. The loops of interpreters in C have other ones: there, the first
// block is an instruction like any other, and a test for it would only take time.
const dispatched = 0

// longPath is the cost of a path from which on jumps are not changed: it would make a short loop at the end of a
// long function expensive.
const longPath = 4000

// maxDirect is the number of jumps in a function that are changed. All functions share the list of them, so it takes
// a constant, whatever the size of the module.
const maxDirect = 10_000

// dispatch is what is known of the loop of a function.
type dispatch struct {
	state   dispatchState
	depth   int      // open blocks, the function included
	loop    int      // the position of the loop among the open blocks
	blocks  int      // how many of its blocks are open; they follow the loop
	number  uint64   // the number that was pushed last
	targets []int    // of the table: positions among the open blocks
	direct  []branch // the jumps that branch directly, in their order
	first   branch   // to the first block, from before the table
}

// branch is a branch that the rewriter changes, or adds.
type branch struct {
	at    int // the position of the instruction that it replaces, or precedes
	label uint32
}

// dispatchState is how far the beginning of the function, or of a jump, was read.
type dispatchState byte

const (
	beforeLoop  dispatchState = iota
	inBlocks                  // the loop has begun
	nextRead                  // the variable is pushed
	inCode                    // behind the table
	numberIs                  // a number is pushed
	nextWritten               // it is in the variable
	otherCode                 // the function has no such loop
)

// reset prepares for another function.
func (d *dispatch) reset() {
	*d = dispatch{depth: 1, targets: d.targets[:0], direct: d.direct[:0]}
}

// follow looks at the next instruction. It gives a jump the label of its target, if it may branch directly. It returns
// the cost of what is added.
func (d *dispatch) follow(in *instruction, at int, may bool) (added int) {
	switch d.state {
	case otherCode:
	case beforeLoop, inBlocks, nextRead:
		if d.begin(in, at); d.state == inCode {
			return costFirst
		}
	case inCode, numberIs, nextWritten:
		d.state = d.code(in, at, may)
	}
	return 0
}

// begin reads what is before the table.
func (d *dispatch) begin(in *instruction, at int) {
	switch {
	case in.op == opBlock && in.blockType == typeEmpty-0x80 && d.state != nextRead:
		d.depth++
		if d.state == inBlocks {
			d.blocks++
		}
	case in.op == opLoop && in.blockType < 0 && d.state == beforeLoop:
		d.state, d.loop = inBlocks, d.depth
		d.depth++
	case in.op == opLocalGet && in.a == dispatched && d.state == inBlocks:
		d.state, d.first.at = nextRead, at
	case in.op == opBrTable && d.state == nextRead:
		d.state, d.first.label = inCode, in.labels[0]
		for _, label := range in.labels {
			d.targets = append(d.targets, d.depth-1-int(label))
		}
	case d.state != beforeLoop, in.op == opBlock, in.op == opLoop, in.op == opIf, in.op == opEnd:
		d.state = otherCode
	}
}

// code reads an instruction behind the table.
func (d *dispatch) code(in *instruction, at int, may bool) dispatchState {
	switch in.op {
	case opI32Const:
		d.number = in.value
		return numberIs
	case opLocalSet:
		if d.state == numberIs && in.a == dispatched {
			return nextWritten
		}
	case opBr:
		if d.state == nextWritten && may && len(d.direct) < maxDirect {
			d.jump(in, at)
		}
	case opBlock, opLoop, opIf:
		d.depth++
	case opEnd:
		d.depth--
		d.blocks = min(d.blocks, d.depth-d.loop-1)
	}
	return inCode
}

// jump lets a branch to the loop lead to the target of the number, if that follows.
func (d *dispatch) jump(in *instruction, at int) {
	target := d.targets[min(d.number, uint64(len(d.targets)-1))]
	if d.depth-1-int(in.a) == d.loop && target > d.loop && target <= d.loop+d.blocks {
		in.a = uint32(d.depth - 1 - target)
		d.direct = append(d.direct, branch{at, in.a})
	}
}

// costFirst is the cost of the test for the first block.
const costFirst = 3

// appendFirst appends the test for the first block.
func (d *dispatch) appendFirst(out []byte) []byte {
	out = wasm.AppendU32(append(out, opLocalGet), dispatched)
	return wasm.AppendU32(append(out, opI32Eqz, opBrIf), d.first.label)
}

// precedes reports whether the test for the first block comes before the instruction at a position.
func (d *dispatch) precedes(at int) bool { return at == d.first.at && len(d.targets) > 0 }

// redirect gives a branch at a position the label that it got before.
func (d *dispatch) redirect(in *instruction, at int) bool {
	i, found := slices.BinarySearchFunc(d.direct, at, func(b branch, at int) int { return cmp.Compare(b.at, at) })
	if found {
		in.a = d.direct[i].label
	}
	return found
}

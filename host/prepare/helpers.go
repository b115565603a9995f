package prepare

import (
	"fmt"

	"github.com/kopf-wasm/kopf/host/internal/wasm"
)

// More opcodes, which only helpers and checks use.
const (
	opSelect       = 0x1b
	opI64Load      = 0x29
	opI32Eqz       = 0x45
	opI32Eq        = 0x46
	opI32LtU       = 0x49
	opI32GtU       = 0x4b
	opI64Eqz       = 0x50
	opI32And       = 0x71
	opI32Add       = 0x6a
	opI32ShrU      = 0x76
	opI64LtS       = 0x53
	opI64Add       = 0x7c
	opI64Sub       = 0x7d
	opI64Or        = 0x84
	opI64ExtendI32 = 0xad // unsigned
)

// helper is a function of the new module that replaces an instruction.
type helper struct {
	name string
	typ  uint32
	body []byte
}

// helperKey distinguishes instructions that need different helpers.
type helperKey struct {
	op, sub byte
	a, b    uint32
}

// needsHelper reports whether the cost of the instruction depends on an operand, or is
// large.
func needsHelper(in *instruction) bool {
	if in.op == opPrefixBulk {
		switch in.sub {
		case bulkMemoryInit, bulkMemoryCopy, bulkMemoryFill, bulkTableInit, bulkTableCopy, bulkTableGrow, bulkTableFill:
			return true
		}
		return false
	}
	return in.op == opMemoryGrow
}

// helper returns the index of the function that replaces the instruction.
func (w *rewriter) helper(in *instruction) uint32 {
	key := helperKey{in.op, in.sub, in.a, in.b}
	index, ok := w.helperIndex[key]
	if !ok {
		index = w.shift(w.m.funcCount()) + uint32(len(w.helpers))
		w.helperIndex[key] = index
		w.helpers = append(w.helpers, w.newHelper(in))
	}
	return index
}

func (w *rewriter) newHelper(in *instruction) helper {
	three := funcType{params: []valueType{typeI32, typeI32, typeI32}}
	code := appendInstruction(nil, in)
	switch {
	case in.op == opMemoryGrow:
		grow := funcType{params: []valueType{typeI32}, results: []valueType{typeI32}}
		return helper{"memory.grow", w.addType(grow), w.growBody(code)}
	case in.sub == bulkMemoryCopy:
		return helper{"memory.copy", w.addType(three), w.copyBody(code)}
	case in.sub == bulkMemoryFill:
		return helper{"memory.fill", w.addType(three), w.fillBody(code)}
	case in.sub == bulkMemoryInit:
		return helper{fmt.Sprintf("memory.init %d", in.a), w.addType(three), w.forwardBody(code, true)}
	case in.sub == bulkTableCopy:
		return w.charged("table.copy", three, []byte{2}, code)
	case in.sub == bulkTableInit:
		return w.charged("table.init", three, []byte{2}, code)
	case in.sub == bulkTableFill:
		fill := funcType{params: []valueType{typeI32, w.m.tables[in.a].elemType, typeI32}}
		return w.charged("table.fill", fill, []byte{2}, code)
	default:
		grow := funcType{params: []valueType{w.m.tables[in.a].elemType, typeI32}, results: []valueType{typeI32}}
		return w.charged("table.grow", grow, nil, code)
	}
}

// charged returns a helper that charges once: for the number of elements in a
// parameter, or a fixed cost.
func (w *rewriter) charged(name string, t funcType, length []byte, code []byte) helper {
	out := []byte{0} // no locals
	if length == nil {
		out = w.appendCheck(out, costGrow)
	} else {
		out = w.appendLengthCheck(out, length[0], elemsShift)
	}
	for i := range t.params {
		out = append(out, opLocalGet, byte(i))
	}
	return helper{name, w.addType(t), append(append(out, code...), opEnd)}
}

// growBody is the helper for memory.grow. It sets the global Refused: to what is asked for if the
// memory does not grow, and else to zero.
func (w *rewriter) growBody(code []byte) []byte {
	const pages, before = 0, 1
	out := w.appendCheck([]byte{1, 1, byte(typeI32)}, costGrow)
	out = append(append(append(out, opLocalGet, pages), code...), opLocalSet, before)
	out = append(out, opLocalGet, pages, opI32Const, 0, opLocalGet, before)
	out = append(wasm.AppendSigned(append(out, opI32Const), -1), opI32Eq, opSelect)
	out = wasm.AppendU32(append(out, opGlobalSet), w.refused)
	return append(out, opLocalGet, before, opEnd)
}

// appendLengthCheck charges for a length in a local variable.
func (w *rewriter) appendLengthCheck(out []byte, local, shift byte) []byte {
	out = wasm.AppendU32(append(out, opGlobalGet), w.counter)
	out = append(out, opLocalGet, local, opI32Const, shift, opI32ShrU, opI64ExtendI32, opI64Sub)
	out = wasm.AppendU32(append(out, opGlobalSet), w.counter)
	return w.appendYield(out)
}

// Local variables of the helpers for memory: destination, source or value, length.
const dst, src, length = 0, 1, 2

const partEnd = 3 // a further one of memory.fill

// appendWholeChunk appends a test whether more than one chunk remains.
func appendWholeChunk(out []byte) []byte {
	out = append(out, opLocalGet, length)
	out = wasm.AppendSigned(append(out, opI32Const), chunk)
	return append(out, opI32GtU)
}

// appendAdd adds a number to a local variable.
func appendAdd(out []byte, local byte, n int64) []byte {
	out = append(out, opLocalGet, local)
	out = wasm.AppendSigned(append(out, opI32Const), n)
	return append(out, opI32Add, opLocalSet, local)
}

// appendChunk appends the instruction for one chunk at the given operands.
func appendChunk(out, at, code []byte) []byte {
	out = append(out, at...)
	out = wasm.AppendSigned(append(out, opI32Const), chunk)
	return append(out, code...)
}

// appendForward appends a loop from the lowest address upwards while more than one chunk remains.
func (w *rewriter) appendForward(out, code []byte, moveSource bool) []byte {
	out = appendWholeChunk(out)
	out = append(out, opIf, typeEmpty, opLoop, typeEmpty)
	out = w.appendCheck(out, chunk>>bytesShift)
	out = appendChunk(out, []byte{opLocalGet, dst, opLocalGet, src}, code)
	out = appendAdd(out, dst, chunk)
	if moveSource {
		out = appendAdd(out, src, chunk)
	}
	out = appendAdd(out, length, -chunk)
	out = appendWholeChunk(out)
	return append(out, opBrIf, 0, opEnd, opEnd)
}

// appendRest appends the instruction for the rest, at most one chunk.
func (w *rewriter) appendRest(out, code []byte) []byte {
	out = w.appendLengthCheck(out, length, bytesShift)
	out = append(out, opLocalGet, dst, opLocalGet, src, opLocalGet, length)
	return append(append(out, code...), opEnd)
}

// forwardBody is the helper for memory.fill and memory.init.
func (w *rewriter) forwardBody(code []byte, moveSource bool) []byte {
	return w.appendRest(w.appendForward([]byte{0}, code, moveSource), code)
}

// fillBody is the helper for memory.fill. Before large ranges are filled with zero, they are read
// part by part: parts that are zero already are not written, so the system need not provide
// them. Go's runtime, among others, clears memory that it has never used.
func (w *rewriter) fillBody(code []byte) []byte {
	whole := wasm.AppendSigned([]byte{opLocalGet, length, opI32Const}, clearedPart)
	out := []byte{1, 1, byte(typeI32)} // the end of the part; src runs from its beginning to its end
	out = append(out, opLocalGet, src)
	out = wasm.AppendSigned(append(out, opI32Const), 0xff)
	out = append(out, opI32And, opI32Eqz, opLocalGet, length)
	out = wasm.AppendSigned(append(out, opI32Const), minCleared)
	out = append(out, opI32GtU, opI32And, opIf, typeEmpty, opLoop, typeEmpty)
	out = w.appendCheck(out, clearedPart>>bytesShift+clearedPart/lookedAt*costLook)
	out = append(out, opLocalGet, dst, opLocalSet, src)
	out = append(out, opLocalGet, dst)
	out = wasm.AppendSigned(append(out, opI32Const), clearedPart)
	out = append(out, opI32Add, opLocalSet, partEnd)
	out = append(out, opBlock, typeEmpty, opLoop, typeEmpty)
	out = appendLook(out)
	out = append(out, opIf, typeEmpty) // not zero: clear the part, and leave
	out = wasm.AppendSigned(append(out, opLocalGet, dst, opI32Const, 0, opI32Const), clearedPart)
	out = append(append(out, code...), opBr, 2, opEnd)
	out = appendAdd(out, src, lookedAt)
	out = append(out, opLocalGet, src, opLocalGet, partEnd, opI32LtU, opBrIf, 0, opEnd, opEnd)
	out = appendAdd(out, dst, clearedPart)
	out = appendAdd(out, length, -clearedPart)
	out = append(append(out, whole...), opI32GtU, opBrIf, 0, opEnd)
	out = append(out, opI32Const, 0, opLocalSet, src, opEnd)
	return w.appendRest(w.appendForward(out, code, false), code)
}

// appendLook appends a test whether one of the bytes after src is not zero.
func appendLook(out []byte) []byte {
	for at := byte(0); at < lookedAt; at += 8 {
		out = append(out, opLocalGet, src, opI64Load, 3, at)
		if at > 0 {
			out = append(out, opI64Or)
		}
	}
	return append(out, opI64Eqz, opI32Eqz)
}

// copyBody is the helper for memory.copy. If the ranges may overlap upwards, it
// copies from the highest address downwards.
func (w *rewriter) copyBody(code []byte) []byte {
	end := []byte{
		opLocalGet, dst, opLocalGet, length, opI32Add,
		opLocalGet, src, opLocalGet, length, opI32Add,
	}
	out := []byte{0, opLocalGet, dst, opLocalGet, src, opI32GtU}
	out = appendWholeChunk(out)
	out = append(out, opI32And, opIf, typeEmpty, opLoop, typeEmpty)
	out = w.appendCheck(out, chunk>>bytesShift)
	out = appendAdd(out, length, -chunk)
	out = appendChunk(out, end, code)
	out = appendWholeChunk(out)
	out = append(out, opBrIf, 0, opEnd, opEnd)
	out = w.appendForward(out, code, true)
	return w.appendRest(out, code)
}

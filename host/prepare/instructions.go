package prepare

// Opcodes that the rewriter treats specially.
//
// See https://www.w3.org/TR/wasm-core-2/#a7-index-of-instructions
const (
	opUnreachable  = 0x00
	opBlock        = 0x02
	opLoop         = 0x03
	opIf           = 0x04
	opElse         = 0x05
	opEnd          = 0x0b
	opBrIf         = 0x0d
	opBr           = 0x0c
	opBrTable      = 0x0e
	opReturn       = 0x0f
	opCall         = 0x10
	opCallIndirect = 0x11
	opSelectTyped  = 0x1c
	opLocalGet     = 0x20
	opLocalSet     = 0x21
	opGlobalGet    = 0x23
	opGlobalSet    = 0x24
	opTableSet     = 0x26
	opMemoryGrow   = 0x40
	opI32Const     = 0x41
	opI64Const     = 0x42
	opF32Const     = 0x43
	opF64Const     = 0x44
	opRefNull      = 0xd0
	opRefFunc      = 0xd2
	opPrefixBulk   = 0xfc
	opPrefixSIMD   = 0xfd
)

// Instructions after opPrefixBulk.
const (
	bulkMemoryInit = 8
	bulkDataDrop   = 9
	bulkMemoryCopy = 10
	bulkMemoryFill = 11
	bulkTableInit  = 12
	bulkElemDrop   = 13
	bulkTableCopy  = 14
	bulkTableGrow  = 15
	bulkTableSize  = 16
	bulkTableFill  = 17
)

// simdConst is v128.const, after opPrefixSIMD.
const simdConst = 12

// instruction is a decoded instruction: values, independent of their encoding.
type instruction struct {
	op, sub   byte      // sub is the opcode after a prefix
	lane      byte      // the number of a lane
	typ       valueType // of select with a type, and of ref.null
	a, b      uint32    // indices, in their order; of an access to memory: alignment and offset
	blockType int64     // of block, loop and if; negative for a type without parameters
	value     uint64    // a constant: its bits, those of an i32 with its sign extended
	vector    [16]byte  // a constant, or the lanes of a shuffle
	labels    []uint32  // of br_table, the default one at the end; valid until the next instruction is read
}

// form returns the encoding of the instruction.
func (in *instruction) form() *form {
	switch in.op {
	case opPrefixBulk:
		return &bulk[in.sub]
	case opPrefixSIMD:
		return &simd[in.sub]
	}
	return &core[in.op]
}

package prepare

import (
	"errors"
	"fmt"
)

// ErrFeature is in the errors about WebAssembly features that are not supported.
var ErrFeature = errors.New("unsupported WebAssembly feature")

func (r *reader) feature(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrFeature, fmt.Sprintf(format, args...))
	}
	r.pos = len(r.buf)
}

// Opcodes that the rewriter looks at.
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
	opLocalGet     = 0x20
	opLocalSet     = 0x21
	opLocalTee     = 0x22
	opGlobalGet    = 0x23
	opGlobalSet    = 0x24
	opTableSet     = 0x26
	opMemoryGrow   = 0x40
	opI32Const     = 0x41
	opI64Const     = 0x42
	opF32Const     = 0x43
	opF64Const     = 0x44
	opRefFunc      = 0xd2
	opPrefixBulk   = 0xfc
	opPrefixSIMD   = 0xfd

	typeEmpty = 0x40
	typeI32   = 0x7f
	typeI64   = 0x7e
	typeV128  = 0x7b
)

// Instructions behind opPrefixBulk.
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

// instruction is one decoded instruction. The immediates a and b are indices,
// where it has any; of br_table, a is the number of labels.
type instruction struct {
	op        byte
	sub       uint32 // behind a prefix
	a, b      uint32
	blockType int64 // of block, loop and if; negative for a type without parameters
}

// immediates say what follows an opcode.
type immediates byte

const (
	immUnknown immediates = iota
	immNone
	immIndex    // one index
	immTwo      // two indices
	immMemory   // alignment and offset
	immBlock    // a block type
	immBranches // a vector of labels and one more
	immTypes    // a vector of value types
	immI32
	immI64
	imm4 // bytes
	imm8
	immByte // a value type, or the memory 0
)

// immediatesOf is indexed by opcode.
var immediatesOf = buildImmediates()

func buildImmediates() (t [256]immediates) {
	set := func(from, to int, imm immediates) {
		for op := from; op <= to; op++ {
			t[op] = imm
		}
	}
	set(0x00, 0x01, immNone) // unreachable, nop
	set(0x02, 0x04, immBlock)
	t[opElse], t[opEnd] = immNone, immNone
	set(0x0c, 0x0d, immIndex) // br, br_if
	t[opBrTable] = immBranches
	t[opReturn] = immNone
	t[opCall] = immIndex
	t[opCallIndirect] = immTwo
	set(0x1a, 0x1b, immNone) // drop, select
	t[0x1c] = immTypes
	set(0x20, 0x26, immIndex)  // local.*, global.*, table.get, table.set
	set(0x28, 0x3e, immMemory) // loads and stores
	set(0x3f, 0x40, immByte)   // memory.size, memory.grow
	t[opI32Const], t[opI64Const] = immI32, immI64
	t[opF32Const], t[opF64Const] = imm4, imm8
	set(0x45, 0xc4, immNone) // arithmetic
	t[0xd0] = immByte        // ref.null
	t[0xd1] = immNone        // ref.is_null
	t[opRefFunc] = immIndex
	return t
}

// featureOf names the feature that an unknown opcode belongs to.
func featureOf(op byte) string {
	switch {
	case op >= 0x06 && op <= 0x0a, op == 0x18, op == 0x19, op == 0x1f:
		return "exceptions"
	case op == 0x12 || op == 0x13:
		return "tail calls"
	case op >= 0x14 && op <= 0x17, op >= 0xd3 && op <= 0xd6:
		return "typed function references"
	case op == 0xfb:
		return "garbage collection"
	case op == 0xfe:
		return "threads"
	}
	return "unknown"
}

// instruction reads one instruction.
func (r *reader) instruction() instruction {
	in := instruction{op: r.byte()}
	switch immediatesOf[in.op] {
	case immUnknown:
		r.prefixed(&in)
	case immIndex:
		in.a = r.u32()
	case immTwo, immMemory:
		in.a, in.b = r.u32(), r.u32()
	case immBlock:
		in.blockType = r.signed(33)
	case immBranches:
		in.a = r.labels()
	case immTypes:
		r.bytes(r.u32())
	case immI32:
		r.signed(32)
	case immI64:
		r.signed(64)
	case imm4:
		r.bytes(4)
	case imm8:
		r.bytes(8)
	case immByte:
		r.byte()
	}
	return in
}

// labels reads those of br_table, the default one included, and returns how many there are.
func (r *reader) labels() uint32 {
	r.targets = r.targets[:0]
	for n := r.count(); n > 0 && r.err == nil; n-- {
		r.targets = append(r.targets, r.u32())
	}
	r.targets = append(r.targets, r.u32())
	return uint32(len(r.targets))
}

// prefixed reads the rest of an instruction that begins with a prefix.
func (r *reader) prefixed(in *instruction) {
	switch in.op {
	case opPrefixBulk:
		in.sub = r.u32()
		r.bulk(in)
	case opPrefixSIMD:
		in.sub = r.u32()
		r.simd(in)
	default:
		r.feature("%s (opcode %#02x)", featureOf(in.op), in.op)
	}
}

func (r *reader) bulk(in *instruction) {
	switch in.sub {
	case 0, 1, 2, 3, 4, 5, 6, 7: // saturating conversions
	case bulkMemoryInit, bulkTableInit, bulkTableCopy, bulkMemoryCopy:
		in.a, in.b = r.u32(), r.u32()
	case bulkDataDrop, bulkElemDrop, bulkMemoryFill, bulkTableGrow, bulkTableSize, bulkTableFill:
		in.a = r.u32()
	default:
		r.feature("unknown (opcode 0xfc %d)", in.sub)
	}
}

// simd reads the immediates of a vector instruction.
//
// See https://www.w3.org/TR/wasm-core-2/#vector-instructions%E2%91%A6
func (r *reader) simd(in *instruction) {
	switch s := in.sub; {
	case s <= 11 || s == 92 || s == 93: // loads and stores
		in.a, in.b = r.u32(), r.u32()
	case s == 12 || s == 13: // v128.const, i8x16.shuffle
		r.bytes(16)
	case s >= 21 && s <= 34: // lanes
		r.byte()
	case s >= 84 && s <= 91: // loads and stores of lanes
		in.a, in.b = r.u32(), r.u32()
		r.byte()
	case s > 255:
		r.feature("relaxed SIMD (opcode 0xfd %d)", s)
	}
}

package prepare

import (
	"encoding/binary"

	"github.com/kopf-wasm/kopf/host/internal/wasm"
)

// reader reads instructions and all other parts of modules.
type reader struct {
	*wasm.Reader
	in instruction // the latest one
}

func newReader(buf []byte) *reader { return &reader{Reader: &wasm.Reader{Buf: buf}} }

// instruction reads one instruction. It is valid until the next one is read.
func (r *reader) instruction() *instruction {
	in := &r.in
	in.op, in.sub = r.Byte(), 0
	f := &core[in.op]
	switch in.op {
	case opPrefixBulk:
		f = r.prefixed(bulk)
	case opPrefixSIMD:
		f = r.prefixed(simd)
	}
	switch f.imm {
	case immNone:
	case immFunction:
		in.a = r.Called()
	case immLabel, immLocal, immGlobal, immData, immElem, immTable:
		in.a = r.Linked()
	case immIndirect, immElemInit, immTables:
		in.a, in.b = r.Linked(), r.Linked()
	case immAccess, immLaneAccess:
		r.access(f)
	case immBlock:
		in.blockType = r.blockType()
	case immI32:
		in.value = uint64(int64(r.S32()))
	case immI64:
		in.value = uint64(r.S64())
	default:
		r.rare(f)
	}
	return in
}

// rare reads the rarer immediates.
func (r *reader) rare(f *form) {
	in := &r.in
	switch f.imm {
	case immLabels:
		r.labels()
	case immType:
		if n := r.U32(); n != 1 {
			r.Feature("select with %d types", n)
		}
		in.typ = r.valueType()
	case immRefType:
		in.typ = r.refType()
	case immMemory:
		in.a = r.memory()
	case immMemories:
		in.a, in.b = r.memory(), r.memory()
	case immDataInit:
		in.a, in.b = r.Linked(), r.memory()
	case immF32:
		in.value = uint64(binary.LittleEndian.Uint32(r.constant(4)))
	case immF64:
		in.value = binary.LittleEndian.Uint64(r.constant(8))
	case immV128:
		copy(in.vector[:], r.constant(16))
	case immLane:
		in.lane = r.lane(f.lanes)
	case immShuffle:
		for i := range in.vector {
			in.vector[i] = r.lane(2 * 16) // of two vectors
		}
	default:
		r.Pos-- // to the opcode
		r.Feature("%s (opcode %#02x)", featureOf(in.op), in.op)
	}
}

// prefixed reads an opcode after a prefix. All accepted ones have eight bits.
func (r *reader) prefixed(table *[256]form) *form {
	sub := r.U32()
	if r.Err == nil && (sub > 0xff || table[sub].imm == immUnknown) {
		feature := "unknown"
		if table == simd && sub > 0xff {
			feature = "relaxed SIMD"
		}
		r.Feature("%s (opcode %#02x %d)", feature, r.in.op, sub)
	}
	if r.Err != nil {
		return &form{imm: immNone}
	}
	r.in.sub = byte(sub)
	return &table[sub]
}

// access reads the alignment and the offset of a memory access.
func (r *reader) access(f *form) {
	r.in.a = r.U32()
	if r.in.a > uint32(f.align) {
		r.Fail("%s: alignment of 2^%d bytes; at most 2^%d", f.name, r.in.a, f.align)
	}
	r.in.b = r.Linked()
	if f.imm == immLaneAccess {
		r.in.lane = r.lane(f.lanes)
	}
}

// lane reads the number of a lane.
func (r *reader) lane(lanes byte) byte {
	lane := r.Byte()
	if lane >= lanes {
		r.Fail("lane %d of %d", lane, lanes)
	}
	return lane
}

// memory reads the index of a memory.
func (r *reader) memory() uint32 {
	if index := r.Byte(); index != 0 {
		r.Feature("multi-memory (memory %#x)", index)
	}
	return 0
}

// constant reads bytes of any content. It returns zeros after the end.
func (r *reader) constant(n uint32) []byte {
	if b := r.Take(n); b != nil {
		return b
	}
	return make([]byte, n)
}

// labels reads the labels of br_table.
func (r *reader) labels() {
	in := &r.in
	in.labels = in.labels[:0]
	n := r.Count()
	if n > maxLabels {
		r.Stop(ErrLimit, "%d labels; at most %d", n, maxLabels)
		return
	}
	for ; n > 0 && r.Err == nil; n-- {
		in.labels = append(in.labels, r.Linked())
	}
	in.labels = append(in.labels, r.Linked())
}

// blockType reads the type of a block: nothing, one result, or the index of a type.
func (r *reader) blockType() int64 {
	v := r.S33()
	if v >= 0 || v == typeEmpty-0x80 {
		return v
	}
	if t := valueType(v & 0x7f); v < -0x40 || !t.known() {
		r.Feature("%s (block type %#x)", featureOfType(byte(v&0x7f)), v&0x7f)
	}
	return v
}

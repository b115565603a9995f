package prepare

import (
	"encoding/binary"

	"github.com/kopf-wasm/kopf/host/internal/wasm"
)

// appendInstruction appends the canonical encoding of an instruction, with the shortest form of each number.
func appendInstruction(out []byte, in *instruction) []byte {
	out = append(out, in.op)
	f := &core[in.op]
	switch in.op {
	case opPrefixBulk:
		f = &bulk[in.sub]
		out = append(out, in.sub) // always below 0x80
	case opPrefixSIMD:
		f = &simd[in.sub]
		out = wasm.AppendU32(out, uint32(in.sub))
	}
	switch f.imm {
	case immNone:
	case immLabel, immFunction, immLocal, immGlobal, immData, immElem, immTable, immMemory:
		out = wasm.AppendU32(out, in.a)
	case immIndirect, immElemInit, immTables, immMemories, immDataInit, immAccess:
		out = wasm.AppendU32(wasm.AppendU32(out, in.a), in.b)
	case immI32, immI64, immBlock:
		out = appendNumber(out, in, f)
	default:
		out = appendRare(out, in, f)
	}
	return out
}

func appendNumber(out []byte, in *instruction, f *form) []byte {
	if f.imm == immBlock {
		return wasm.AppendSigned(out, in.blockType)
	}
	return wasm.AppendSigned(out, int64(in.value))
}

// appendRare appends the rarer immediates.
func appendRare(out []byte, in *instruction, f *form) []byte {
	switch f.imm {
	case immLabels:
		out = wasm.AppendU32(out, uint32(len(in.labels)-1))
		for _, label := range in.labels {
			out = wasm.AppendU32(out, label)
		}
	case immLaneAccess:
		out = append(wasm.AppendU32(wasm.AppendU32(out, in.a), in.b), in.lane)
	case immType:
		out = append(out, 1, byte(in.typ))
	case immRefType:
		out = append(out, byte(in.typ))
	case immF32:
		out = binary.LittleEndian.AppendUint32(out, uint32(in.value))
	case immF64:
		out = binary.LittleEndian.AppendUint64(out, in.value)
	case immV128, immShuffle:
		out = append(out, in.vector[:]...)
	case immLane:
		out = append(out, in.lane)
	default: // the decoder refuses all other instructions
		out[len(out)-1] = opUnreachable
	}
	return out
}

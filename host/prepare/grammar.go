package prepare

import (
	"strconv"
	"strings"
)

// form describes the encoding of an instruction: its name and the immediates after its opcode.
type form struct {
	name  string
	imm   immediates
	align byte // of an access to memory: the largest exponent of its alignment
	lanes byte // how many lanes its vector has, if the instruction has the number of a lane
}

// immediates are the kinds of immediates after an opcode.
type immediates byte

const (
	immUnknown    immediates = iota // the instruction is not accepted
	immNone                         //
	immBlock                        // a block type
	immLabel                        // the number of a label
	immLabels                       // a vector of them, and one more
	immFunction                     // the index of a function
	immIndirect                     // the index of a type, and of a table
	immType                         // a vector of one value type
	immLocal                        // the index of a local variable
	immGlobal                       // of a global
	immTable                        // of a table
	immMemory                       // of a memory: zero
	immI32                          // a number
	immI64                          //
	immF32                          // its bits
	immF64                          //
	immV128                         //
	immRefType                      // a reference type
	immAccess                       // alignment and offset
	immLaneAccess                   // alignment, offset, and the number of a lane
	immLane                         // the number of a lane
	immShuffle                      // sixteen numbers of lanes
	immDataInit                     // the index of a data segment, and of a memory
	immData                         // of a data segment
	immMemories                     // of two memories
	immElemInit                     // the index of an element segment, and of a table
	immElem                         // of an element segment
	immTables                       // of two tables
)

// row is a part of the grammar: consecutive instructions with the same immediates. A name may be followed by
// a number: the largest alignment of an access, or the number of lanes. A dash is an opcode without an instruction.
type row struct {
	first byte
	imm   immediates
	names string
}

// The grammar of instructions: that of WebAssembly 2.0. All other opcodes are refused.
//
// See https://www.w3.org/TR/wasm-core-2/#a7-index-of-instructions
var (
	core = grammar([]row{
		{0x00, immNone, "unreachable nop"},
		{0x02, immBlock, "block loop if"},
		{0x05, immNone, "else"},
		{0x0b, immNone, "end"},
		{0x0c, immLabel, "br br_if"},
		{0x0e, immLabels, "br_table"},
		{0x0f, immNone, "return"},
		{0x10, immFunction, "call"},
		{0x11, immIndirect, "call_indirect"},
		{0x1a, immNone, "drop select"},
		{0x1c, immType, "select"},
		{0x20, immLocal, "local.get local.set local.tee"},
		{0x23, immGlobal, "global.get global.set"},
		{0x25, immTable, "table.get table.set"},
		{0x28, immAccess, `i32.load/2 i64.load/3 f32.load/2 f64.load/3
			i32.load8_s/0 i32.load8_u/0 i32.load16_s/1 i32.load16_u/1
			i64.load8_s/0 i64.load8_u/0 i64.load16_s/1 i64.load16_u/1 i64.load32_s/2 i64.load32_u/2
			i32.store/2 i64.store/3 f32.store/2 f64.store/3
			i32.store8/0 i32.store16/1 i64.store8/0 i64.store16/1 i64.store32/2`},
		{0x3f, immMemory, "memory.size memory.grow"},
		{0x41, immI32, "i32.const"},
		{0x42, immI64, "i64.const"},
		{0x43, immF32, "f32.const"},
		{0x44, immF64, "f64.const"},
		{0x45, immNone, `i32.eqz i32.eq i32.ne i32.lt_s i32.lt_u i32.gt_s i32.gt_u i32.le_s i32.le_u i32.ge_s i32.ge_u
			i64.eqz i64.eq i64.ne i64.lt_s i64.lt_u i64.gt_s i64.gt_u i64.le_s i64.le_u i64.ge_s i64.ge_u
			f32.eq f32.ne f32.lt f32.gt f32.le f32.ge f64.eq f64.ne f64.lt f64.gt f64.le f64.ge
			i32.clz i32.ctz i32.popcnt i32.add i32.sub i32.mul i32.div_s i32.div_u i32.rem_s i32.rem_u
			i32.and i32.or i32.xor i32.shl i32.shr_s i32.shr_u i32.rotl i32.rotr
			i64.clz i64.ctz i64.popcnt i64.add i64.sub i64.mul i64.div_s i64.div_u i64.rem_s i64.rem_u
			i64.and i64.or i64.xor i64.shl i64.shr_s i64.shr_u i64.rotl i64.rotr
			f32.abs f32.neg f32.ceil f32.floor f32.trunc f32.nearest f32.sqrt f32.add f32.sub f32.mul f32.div f32.min f32.max f32.copysign
			f64.abs f64.neg f64.ceil f64.floor f64.trunc f64.nearest f64.sqrt f64.add f64.sub f64.mul f64.div f64.min f64.max f64.copysign
			i32.wrap_i64 i32.trunc_f32_s i32.trunc_f32_u i32.trunc_f64_s i32.trunc_f64_u
			i64.extend_i32_s i64.extend_i32_u i64.trunc_f32_s i64.trunc_f32_u i64.trunc_f64_s i64.trunc_f64_u
			f32.convert_i32_s f32.convert_i32_u f32.convert_i64_s f32.convert_i64_u f32.demote_f64
			f64.convert_i32_s f64.convert_i32_u f64.convert_i64_s f64.convert_i64_u f64.promote_f32
			i32.reinterpret_f32 i64.reinterpret_f64 f32.reinterpret_i32 f64.reinterpret_i64
			i32.extend8_s i32.extend16_s i64.extend8_s i64.extend16_s i64.extend32_s`},
		{0xd0, immRefType, "ref.null"},
		{0xd1, immNone, "ref.is_null"},
		{0xd2, immFunction, "ref.func"},
	})

	// bulk has the opcodes after opPrefixBulk.
	bulk = grammar([]row{
		{0, immNone, `i32.trunc_sat_f32_s i32.trunc_sat_f32_u i32.trunc_sat_f64_s i32.trunc_sat_f64_u
			i64.trunc_sat_f32_s i64.trunc_sat_f32_u i64.trunc_sat_f64_s i64.trunc_sat_f64_u`},
		{8, immDataInit, "memory.init"},
		{9, immData, "data.drop"},
		{10, immMemories, "memory.copy"},
		{11, immMemory, "memory.fill"},
		{12, immElemInit, "table.init"},
		{13, immElem, "elem.drop"},
		{14, immTables, "table.copy"},
		{15, immTable, "table.grow table.size table.fill"},
	})

	// simd has the opcodes after opPrefixSIMD.
	simd = grammar([]row{
		{0, immAccess, `v128.load/4 v128.load8x8_s/3 v128.load8x8_u/3 v128.load16x4_s/3 v128.load16x4_u/3 v128.load32x2_s/3 v128.load32x2_u/3
			v128.load8_splat/0 v128.load16_splat/1 v128.load32_splat/2 v128.load64_splat/3 v128.store/4`},
		{12, immV128, "v128.const"},
		{13, immShuffle, "i8x16.shuffle"},
		{14, immNone, "i8x16.swizzle i8x16.splat i16x8.splat i32x4.splat i64x2.splat f32x4.splat f64x2.splat"},
		{21, immLane, `i8x16.extract_lane_s/16 i8x16.extract_lane_u/16 i8x16.replace_lane/16
			i16x8.extract_lane_s/8 i16x8.extract_lane_u/8 i16x8.replace_lane/8 i32x4.extract_lane/4 i32x4.replace_lane/4
			i64x2.extract_lane/2 i64x2.replace_lane/2 f32x4.extract_lane/4 f32x4.replace_lane/4 f64x2.extract_lane/2 f64x2.replace_lane/2`},
		{35, immNone, `i8x16.eq i8x16.ne i8x16.lt_s i8x16.lt_u i8x16.gt_s i8x16.gt_u i8x16.le_s i8x16.le_u i8x16.ge_s i8x16.ge_u
			i16x8.eq i16x8.ne i16x8.lt_s i16x8.lt_u i16x8.gt_s i16x8.gt_u i16x8.le_s i16x8.le_u i16x8.ge_s i16x8.ge_u
			i32x4.eq i32x4.ne i32x4.lt_s i32x4.lt_u i32x4.gt_s i32x4.gt_u i32x4.le_s i32x4.le_u i32x4.ge_s i32x4.ge_u
			f32x4.eq f32x4.ne f32x4.lt f32x4.gt f32x4.le f32x4.ge f64x2.eq f64x2.ne f64x2.lt f64x2.gt f64x2.le f64x2.ge
			v128.not v128.and v128.andnot v128.or v128.xor v128.bitselect v128.any_true`},
		{84, immLaneAccess, `v128.load8_lane/0 v128.load16_lane/1 v128.load32_lane/2 v128.load64_lane/3
			v128.store8_lane/0 v128.store16_lane/1 v128.store32_lane/2 v128.store64_lane/3`},
		{92, immAccess, "v128.load32_zero/2 v128.load64_zero/3"},
		{94, immNone, `f32x4.demote_f64x2_zero f64x2.promote_low_f32x4
			i8x16.abs i8x16.neg i8x16.popcnt i8x16.all_true i8x16.bitmask i8x16.narrow_i16x8_s i8x16.narrow_i16x8_u
			f32x4.ceil f32x4.floor f32x4.trunc f32x4.nearest i8x16.shl i8x16.shr_s i8x16.shr_u
			i8x16.add i8x16.add_sat_s i8x16.add_sat_u i8x16.sub i8x16.sub_sat_s i8x16.sub_sat_u f64x2.ceil f64x2.floor
			i8x16.min_s i8x16.min_u i8x16.max_s i8x16.max_u f64x2.trunc i8x16.avgr_u
			i16x8.extadd_pairwise_i8x16_s i16x8.extadd_pairwise_i8x16_u i32x4.extadd_pairwise_i16x8_s i32x4.extadd_pairwise_i16x8_u
			i16x8.abs i16x8.neg i16x8.q15mulr_sat_s i16x8.all_true i16x8.bitmask i16x8.narrow_i32x4_s i16x8.narrow_i32x4_u
			i16x8.extend_low_i8x16_s i16x8.extend_high_i8x16_s i16x8.extend_low_i8x16_u i16x8.extend_high_i8x16_u
			i16x8.shl i16x8.shr_s i16x8.shr_u i16x8.add i16x8.add_sat_s i16x8.add_sat_u i16x8.sub i16x8.sub_sat_s i16x8.sub_sat_u f64x2.nearest
			i16x8.mul i16x8.min_s i16x8.min_u i16x8.max_s i16x8.max_u - i16x8.avgr_u
			i16x8.extmul_low_i8x16_s i16x8.extmul_high_i8x16_s i16x8.extmul_low_i8x16_u i16x8.extmul_high_i8x16_u
			i32x4.abs i32x4.neg - i32x4.all_true i32x4.bitmask - -
			i32x4.extend_low_i16x8_s i32x4.extend_high_i16x8_s i32x4.extend_low_i16x8_u i32x4.extend_high_i16x8_u
			i32x4.shl i32x4.shr_s i32x4.shr_u i32x4.add - - i32x4.sub - - - i32x4.mul i32x4.min_s i32x4.min_u i32x4.max_s i32x4.max_u i32x4.dot_i16x8_s -
			i32x4.extmul_low_i16x8_s i32x4.extmul_high_i16x8_s i32x4.extmul_low_i16x8_u i32x4.extmul_high_i16x8_u
			i64x2.abs i64x2.neg - i64x2.all_true i64x2.bitmask - -
			i64x2.extend_low_i32x4_s i64x2.extend_high_i32x4_s i64x2.extend_low_i32x4_u i64x2.extend_high_i32x4_u
			i64x2.shl i64x2.shr_s i64x2.shr_u i64x2.add - - i64x2.sub - - - i64x2.mul
			i64x2.eq i64x2.ne i64x2.lt_s i64x2.gt_s i64x2.le_s i64x2.ge_s
			i64x2.extmul_low_i32x4_s i64x2.extmul_high_i32x4_s i64x2.extmul_low_i32x4_u i64x2.extmul_high_i32x4_u
			f32x4.abs f32x4.neg - f32x4.sqrt f32x4.add f32x4.sub f32x4.mul f32x4.div f32x4.min f32x4.max f32x4.pmin f32x4.pmax
			f64x2.abs f64x2.neg - f64x2.sqrt f64x2.add f64x2.sub f64x2.mul f64x2.div f64x2.min f64x2.max f64x2.pmin f64x2.pmax
			i32x4.trunc_sat_f32x4_s i32x4.trunc_sat_f32x4_u f32x4.convert_i32x4_s f32x4.convert_i32x4_u
			i32x4.trunc_sat_f64x2_s_zero i32x4.trunc_sat_f64x2_u_zero f64x2.convert_low_i32x4_s f64x2.convert_low_i32x4_u`},
	})
)

// grammar converts rows to a table by opcode.
func grammar(rows []row) *[256]form {
	table := &[256]form{}
	for _, r := range rows {
		for i, name := range strings.Fields(r.names) {
			if name != "-" {
				table[int(r.first)+i] = newForm(name, r.imm)
			}
		}
	}
	return table
}

func newForm(name string, imm immediates) form {
	name, number, _ := strings.Cut(name, "/")
	n, _ := strconv.Atoi(number)
	f := form{name: name, imm: imm}
	switch imm {
	case immLane:
		f.lanes = byte(n)
	case immAccess, immLaneAccess:
		f.align, f.lanes = byte(n), 16>>n
	}
	return f
}

// featureOf names the feature that an opcode outside of the grammar belongs to.
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

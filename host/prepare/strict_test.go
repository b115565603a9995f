package prepare

import (
	"errors"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// TestGrammar: names stand at their opcodes, which are counted in the table.
func TestGrammar(t *testing.T) {
	for _, test := range []struct {
		table *[256]form
		op    int
		name  string
	}{
		{core, opSelectTyped, "select"},
		{core, opBrTable, "br_table"},
		{core, 0x35, "i64.load32_u"},
		{core, 0x3e, "i64.store32"},
		{core, 0x6f, "i32.rem_s"},
		{core, 0xa7, "i32.wrap_i64"},
		{core, 0xc4, "i64.extend32_s"},
		{core, opRefFunc, "ref.func"},
		{bulk, 7, "i64.trunc_sat_f64_u"},
		{bulk, bulkTableFill, "table.fill"},
		{simd, 11, "v128.store"},
		{simd, 34, "f64x2.replace_lane"},
		{simd, 83, "v128.any_true"},
		{simd, 91, "v128.store64_lane"},
		{simd, 127, "i32x4.extadd_pairwise_i16x8_u"},
		{simd, 155, "i16x8.avgr_u"},
		{simd, 186, "i32x4.dot_i16x8_s"},
		{simd, 223, "i64x2.extmul_high_i32x4_u"},
		{simd, 255, "f64x2.convert_low_i32x4_u"},
	} {
		if got := test.table[test.op].name; got != test.name {
			t.Errorf("opcode %#x is %q, want %q", test.op, got, test.name)
		}
	}
	for _, op := range []int{0x06, 0x12, 0x1d, 0x27, 0xc5, 0xd3, 0xfb, 0xfe, 0xff} {
		if core[op].imm != immUnknown {
			t.Errorf("opcode %#x is accepted", op)
		}
	}
	for _, op := range []int{154, 162, 165, 166, 175, 176, 178, 179, 180, 187, 194, 197, 198, 207, 208, 210, 211, 212, 226, 238} {
		if simd[op].imm != immUnknown {
			t.Errorf("vector opcode %d is accepted", op)
		}
	}
}

// TestCodeIsStrict: each fault in a body is refused, with its place.
func TestCodeIsStrict(t *testing.T) {
	block := func(typ ...byte) []byte { return asm.Cat([]byte{opBlock}, typ, asm.End) }
	vector := asm.Cat([]byte{opPrefixSIMD, simdConst}, make([]byte, 16))
	for _, test := range []struct {
		name string
		code []byte
		kind error
		want string
	}{
		{"select of no type", []byte{opSelectTyped, 0}, ErrFeature, "select with 0 types"},
		{"select of two types", []byte{opSelectTyped, 2, asm.I32, asm.I32}, ErrFeature, "select with 2 types"},
		{"select of a typed reference", []byte{opSelectTyped, 1, 0x64, 0}, ErrFeature, "value type 0x64"},
		{"over-long number of types", []byte{opSelectTyped, 0x81, 0x80, 0x80, 0x80, 0, asm.I32}, ErrMalformed, "over-long"},
		{"block of a typed reference", block(0x64, 0), ErrFeature, "block type 0x64"},
		{"block of an unknown type", block(0x6e), ErrFeature, "block type 0x6e"},
		{"block type in two bytes", block(0xff, 0x7f), ErrMalformed, "over-long"},
		{"block type in five bytes", block(0x80, 0x80, 0x80, 0x80, 0), ErrMalformed, "over-long"},
		{"null of a typed reference", []byte{opRefNull, 0}, ErrFeature, "reference type 0x0"},
		{"null of a number", []byte{opRefNull, asm.I32}, ErrFeature, "reference type 0x7f"},
		{"alignment", asm.Cat(asm.I32Const(0), []byte{0x28, 3, 0}), ErrMalformed, "i32.load: alignment of 2^3 bytes; at most 2^2"},
		{"over-long alignment", asm.Cat(asm.I32Const(0), []byte{0x28, 0x80, 0x80, 0x80, 0x80, 0, 0}), ErrMalformed, "over-long"},
		{"another memory", asm.Cat(asm.I32Const(0), []byte{0x28, 0x42, 0, 0}), ErrMalformed, "alignment of 2^66 bytes"},
		{"alignment of a vector", asm.Cat(asm.I32Const(0), []byte{opPrefixSIMD, 0, 5, 0}), ErrMalformed, "v128.load: alignment of 2^5"},
		{"alignment of a lane", asm.Cat(asm.I32Const(0), vector, []byte{opPrefixSIMD, 84, 1, 0, 0}), ErrMalformed, "v128.load8_lane: alignment"},
		{"lane of a load", asm.Cat(asm.I32Const(0), vector, []byte{opPrefixSIMD, 87, 0, 0, 2}), ErrMalformed, "lane 2 of 2"},
		{"lane", asm.Cat(vector, []byte{opPrefixSIMD, 27, 4}), ErrMalformed, "lane 4 of 4"},
		{"lane of a shuffle", asm.Cat(vector, vector, []byte{opPrefixSIMD, 13}, asm.Repeat(16, 32)), ErrMalformed, "lane 32 of 32"},
		{"vector opcode in three bytes", asm.Cat(vector, []byte{opPrefixSIMD, 0x80 | 77, 0x80, 0}), ErrMalformed, "over-long"},
		{"vector opcode in five bytes", asm.Cat(vector, []byte{opPrefixSIMD, 0x80 | 77, 0x80, 0x80, 0x80, 0}), ErrMalformed, "over-long"},
		{"relaxed vectors", []byte{opPrefixSIMD, 0x80, 2}, ErrFeature, "relaxed SIMD"},
		{"unknown vector opcode", []byte{opPrefixSIMD, 0x9a, 1}, ErrFeature, "opcode 0xfd 154"},
		{"opcode behind the prefix in two bytes", []byte{opPrefixBulk, 0x80, 0}, ErrMalformed, "over-long"},
		{"unknown opcode behind the prefix", []byte{opPrefixBulk, 18}, ErrFeature, "opcode 0xfc 18"},
		{"memory of memory.size", []byte{0x3f, 1}, ErrFeature, "multi-memory"},
		{"memory of memory.size in two bytes", []byte{0x3f, 0x80, 0}, ErrFeature, "multi-memory"},
		{"memory of memory.copy", []byte{opPrefixBulk, bulkMemoryCopy, 0, 1}, ErrFeature, "multi-memory"},
		{"constant of three bytes", []byte{opI32Const, 0x80, 0x80, 0}, ErrMalformed, "over-long"},
		{"constant of 33 bits", []byte{opI32Const, 0xff, 0xff, 0xff, 0xff, 0x0f}, ErrMalformed, "more than 32 bits"},
		{"over-long constant of 64 bits", []byte{opI64Const, 0x80, 0x80, 0x80, 0x80, 0}, ErrMalformed, "over-long"},
		{"local variable", asm.Get(5), ErrMalformed, "local.get: unknown local variable 5"},
		{"global that cannot be changed", asm.Cat(asm.I32Const(0), asm.GlobalSet(1)), ErrMalformed, "global 1 cannot be changed"},
		{"table", []byte{0x25, 1}, ErrMalformed, "unknown table 1"},
		{"table of a call", asm.Cat(asm.I32Const(0), []byte{opCallIndirect, 0, 1}), ErrMalformed, "call_indirect: unknown table 1"},
		{"table to copy from", []byte{opPrefixBulk, bulkTableCopy, 0, 1}, ErrMalformed, "table.copy: unknown table 1"},
		{"element segment", []byte{opPrefixBulk, bulkElemDrop, 1}, ErrMalformed, "unknown element segment 1"},
		{"element segment to copy", []byte{opPrefixBulk, bulkTableInit, 1, 0}, ErrMalformed, "unknown element segment 1"},
		{"no data count", []byte{opPrefixBulk, bulkDataDrop, 0}, ErrMalformed, "there is no data count"},
		{"label", asm.Br(1), ErrMalformed, "br: unknown label 1"},
		{"label of a table", []byte{opBrTable, 1, 0, 9, 0}, ErrMalformed, "br_table: unknown label 9"},
		{"else without if", asm.Cat(asm.Block, asm.Else, asm.End), ErrMalformed, "else: there is no if"},
		{"two elses", asm.Cat(asm.I32Const(0), asm.If, asm.Else, asm.Else, asm.End), ErrMalformed, "else: there is no if"},
		{"end too early", asm.End, ErrMalformed, "bytes after the end of a function"},
		{"no end", asm.Block, ErrMalformed, "unexpected end"},
		{"exceptions", []byte{0x06, 0x40}, ErrFeature, "exceptions (opcode 0x06)"},
		{"tail calls", []byte{0x12, 0}, ErrFeature, "tail calls (opcode 0x12)"},
		{"threads", []byte{0xfe, 0, 0, 0}, ErrFeature, "threads (opcode 0xfe)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := program(test.code)
			m.Globals = append(m.Globals, asm.Cat([]byte{asm.I32, 0}, asm.I32Const(7), asm.End))
			m.Tables, m.Elements = [][]byte{{asm.FuncRef, 0, 1}}, [][]byte{{1, 0, 1, 0}}
			_, err := prepared(m.Encode())
			if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "function 0 (f): ") || !strings.Contains(err.Error(), "offset 0x") {
				t.Errorf("error = %v, want %v: %q", err, test.kind, test.want)
			}
		})
	}
}

// TestSectionsAreStrict: each fault outside of the code is refused, with its place.
func TestSectionsAreStrict(t *testing.T) {
	number := asm.Cat(asm.I32Const(0), asm.End)
	for _, test := range []struct {
		name   string
		change func(m *asm.Module)
		kind   error
		want   string
	}{
		{"type of a parameter", func(m *asm.Module) { m.Funcs[0].Params[0] = 0x64 }, ErrFeature, "type section: item 0: unsupported WebAssembly feature: typed function references (value type 0x64)"},
		{"type of a local variable", func(m *asm.Module) { m.Funcs[0].Locals[0] = 0x69 }, ErrFeature, "function 0 (f): unsupported WebAssembly feature: exceptions (value type 0x69)"},
		{"type of a table", func(m *asm.Module) { m.Tables = [][]byte{{asm.I32, 0, 1}} }, ErrFeature, "table section: item 0: unsupported WebAssembly feature: unknown (reference type 0x7f)"},
		{"table with an expression", func(m *asm.Module) { m.Tables = [][]byte{{0x40, 0, asm.FuncRef, 0, 1}} }, ErrFeature, "reference type 0x40"},
		{"limits upside down", func(m *asm.Module) { m.Tables = [][]byte{{asm.FuncRef, 1, 2, 1}} }, ErrMalformed, "limits of 2 to 1"},
		{"flags of limits", func(m *asm.Module) { m.Tables = [][]byte{{asm.FuncRef, 0x10, 1}} }, ErrMalformed, "limits with flags 0x10"},
		{"memory beyond 4 GiB", func(m *asm.Module) { m.Memory = []uint32{1, 65537} }, ErrMalformed, "memory section: item 0: malformed module: limits of 1 to 65537"},
		{"mutability", func(m *asm.Module) { m.Globals = [][]byte{asm.Cat([]byte{asm.I32, 2}, number)} }, ErrMalformed, "mutability 0x2"},
		{"type of a global", func(m *asm.Module) { m.Globals = [][]byte{asm.Cat([]byte{0x63, 0, 0}, number)} }, ErrFeature, "value type 0x63"},
		{"type of a constant", func(m *asm.Module) { m.Globals = [][]byte{asm.Cat([]byte{asm.I64, 0}, number)} }, ErrMalformed, "constant of type i32 where i64 is expected"},
		{"no constant", func(m *asm.Module) {
			m.Globals = [][]byte{asm.Cat([]byte{asm.I32, 0}, asm.MemorySize, asm.End)}
		}, ErrMalformed, "memory.size is not constant"},
		{"extended constant", func(m *asm.Module) {
			m.Globals = [][]byte{asm.Cat([]byte{asm.I32, 0}, asm.I32Const(1), asm.I32Const(1), asm.I32Add, asm.End)}
		}, ErrFeature, "extended constant expressions"},
		{"constant of another global", func(m *asm.Module) {
			m.Globals = append(m.Globals, asm.Cat([]byte{asm.I32, 0}, asm.GlobalGet(0), asm.End))
		}, ErrFeature, "global.get in a constant expression"},
		{"constant function", func(m *asm.Module) {
			m.Globals = [][]byte{{asm.FuncRef, 0, opRefFunc, 9, opEnd}}
		}, ErrMalformed, "unknown function 9"},
		{"kind of an export", func(m *asm.Module) { m.Exports = [][]byte{asm.Cat(asm.Name("x"), []byte{4, 0})} }, ErrMalformed, "export of kind 0x4"},
		{"exported function", func(m *asm.Module) { m.Exports = [][]byte{asm.Cat(asm.Name("x"), []byte{0, 9})} }, ErrMalformed, "unknown function 9"},
		{"exported table", func(m *asm.Module) { m.Exports = [][]byte{asm.Cat(asm.Name("x"), []byte{1, 0})} }, ErrMalformed, "unknown table 0"},
		{"exported global", func(m *asm.Module) { m.Exports = [][]byte{asm.Cat(asm.Name("x"), []byte{3, 1})} }, ErrMalformed, "unknown global 1"},
		{"name of an export", func(m *asm.Module) { m.Exports = [][]byte{{1, 0xff, 0, 0}} }, ErrMalformed, "name is not UTF-8"},
		{"exports of one name", func(m *asm.Module) { m.Exports = [][]byte{asm.Cat(asm.Name("f"), []byte{0, 0})} }, ErrMalformed, "two exports of the name f"},
		{"start function", func(m *asm.Module) { m.Start = 9 }, ErrMalformed, "start section: malformed module: unknown function 9"},
		{"start function with results", func(m *asm.Module) {
			m.Funcs, m.Start = append(m.Funcs, asm.Func{Results: []byte{asm.I32}, Code: asm.I32Const(0)}), 1
		}, ErrMalformed, "start function of type () -> i32"},
		{"flags of elements", func(m *asm.Module) { m.Elements = [][]byte{{8, 0}} }, ErrMalformed, "element segment with flags 0x8"},
		{"kind of elements", func(m *asm.Module) { m.Elements = [][]byte{{1, 1, 0}} }, ErrMalformed, "elements of kind 0x1"},
		{"type of elements", func(m *asm.Module) { m.Elements = [][]byte{{5, 0x63, 0}} }, ErrFeature, "reference type 0x63"},
		{"table of elements", func(m *asm.Module) { m.Elements = [][]byte{asm.Cat([]byte{0}, number, []byte{0})} }, ErrMalformed, "unknown table 0"},
		{"elements of the wrong type", func(m *asm.Module) {
			m.Tables, m.Elements = [][]byte{{asm.ExternRef, 0, 1}}, [][]byte{asm.Cat([]byte{0}, number, []byte{0})}
		}, ErrMalformed, "elements of type funcref for table 0 of type externref"},
		{"element of the wrong type", func(m *asm.Module) {
			m.Elements = [][]byte{{5, asm.FuncRef, 1, opRefNull, asm.ExternRef, opEnd}}
		}, ErrMalformed, "constant of type externref where funcref is expected"},
		{"element that is no instruction", func(m *asm.Module) {
			m.Elements = [][]byte{{5, asm.FuncRef, 1, 0xff, opEnd}}
		}, ErrFeature, "element section: item 0: unsupported WebAssembly feature: unknown (opcode 0xff)"},
		{"flags of data", func(m *asm.Module) { m.Raw = asm.Section(11, []byte{1, 3, 0}); m.Data = nil }, ErrMalformed, "data segment with flags 0x3"},
		{"memory of data", func(m *asm.Module) {
			m.Raw, m.Data = asm.Section(11, asm.Cat([]byte{1, 2, 1}, number, []byte{0})), nil
		}, ErrFeature, "multi-memory"},
		{"data count", func(m *asm.Module) {
			m.DataCount, m.Data, m.Passive = true, nil, [][]byte{{1}}
			m.Raw = nil
		}, nil, ""},
		{"data count without data", func(m *asm.Module) { m.DataCount, m.Data = true, nil; m.Raw = asm.Section(11, []byte{1, 1, 0}) }, ErrMalformed, "1 data segments, but a data count of 0"},
		{"bytes left in a section", func(m *asm.Module) { m.Raw = asm.Section(11, []byte{0, 0}); m.Data = nil }, ErrMalformed, "data section: malformed module: bytes left"},
		{"custom section without a name", func(m *asm.Module) { m.Raw = []byte{0, 0} }, ErrMalformed, "custom section: malformed module: unexpected end"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := program(asm.I32Const(0))
			test.change(&m)
			_, err := prepared(m.Encode())
			if !errors.Is(err, test.kind) || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want %v: %q", err, test.kind, test.want)
			}
		})
	}
}

// TestElementsOutsideOfTheirTable are refused: the engine would leave out the segment and all that follow.
func TestElementsOutsideOfTheirTable(t *testing.T) {
	for offset, tests := range map[int32]map[int]string{
		0:  {0: "", 2: "", 3: "elements 0 to 3 lie outside of table 0, which begins with 2"},
		1:  {1: "", 2: "elements 1 to 3 lie"},
		2:  {0: "", 1: "elements 2 to 3 lie"},
		3:  {0: "elements 3 to 3 lie"},
		-1: {0: "elements 4294967295 to 4294967295 lie", 1: "elements 4294967295 to 4294967296 lie"},
	} {
		for count, want := range tests {
			m := program(asm.I32Const(0))
			m.Tables = [][]byte{{asm.FuncRef, 0, 2}}
			m.Elements = [][]byte{asm.Cat([]byte{0}, asm.I32Const(offset), asm.End, []byte{byte(count)}, make([]byte, count))}
			_, err := prepared(m.Encode())
			if want == "" && err != nil || want != "" && (!errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), want)) {
				t.Errorf("%d elements at %d: error = %v, want %q", count, offset, err, want)
			}
		}
	}
}

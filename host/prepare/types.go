package prepare

import (
	"bytes"
	"strings"
)

// Import is an import of a module.
type Import struct {
	Module, Name string
	Type         string // of a function: "(i32) -> i64"; otherwise "memory", "table", "global"

	kind  byte
	index uint32 // of a function: its type
}

// Export is an export of a module.
type Export struct {
	Name string
	Type string // as in Import

	kind  byte
	index uint32
}

// typeOf is the type index of a function; one that does not exist for functions
// that do not exist.
func (m *module) typeOf(fn uint32) uint32 {
	if fn < m.importedFuncs() {
		return m.importTypes[fn]
	}
	if fn -= m.importedFuncs(); uint64(fn) < uint64(len(m.funcs)) {
		return m.funcs[fn]
	}
	return 1<<32 - 1
}

func (m *module) typeString(index uint32) string {
	if uint64(index) >= uint64(len(m.types)) {
		return "unknown"
	}
	return decodeType(m.types[index]).String()
}

// funcType is a function type taken apart.
type funcType struct{ params, results []byte }

// decodeType takes a type apart that reader.funcType has read.
func decodeType(encoded []byte) funcType {
	r := &reader{buf: encoded, pos: 1}
	return funcType{params: r.bytes(r.u32()), results: r.bytes(r.u32())}
}

// encode is the inverse of decodeType.
func (t funcType) encode() []byte {
	return appendSized(appendSized([]byte{0x60}, t.params), t.results)
}

// String writes a type as "(i32, i32) -> i64", and no results as "()".
func (t funcType) String() string {
	results := valueTypes(t.results)
	if len(t.results) != 1 {
		results = "(" + results + ")"
	}
	return "(" + valueTypes(t.params) + ") -> " + results
}

func valueTypes(encoded []byte) string {
	names := make([]string, len(encoded))
	for i, v := range encoded {
		names[i] = valueType(v)
	}
	return strings.Join(names, ", ")
}

func valueType(v byte) string {
	all := [...]string{"i32", "i64", "f32", "f64", "v128"} // from 0x7f downwards
	if i := bytes.IndexByte([]byte{0x7f, 0x7e, 0x7d, 0x7c, 0x7b}, v); i >= 0 {
		return all[i]
	}
	switch v {
	case 0x70:
		return "funcref"
	case 0x6f:
		return "externref"
	}
	return "unknown"
}

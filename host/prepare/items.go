package prepare

import (
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/host/internal/wasm"
)

// Kinds of imports and exports.
const (
	kindFunc = iota
	kindTable
	kindMemory
	kindGlobal
	kindTag // of the exceptions proposal
)

var kindNames = [...]string{"function", "table", "memory", "global"}

// Import is an imported function.
type Import struct {
	Module, Name string
	Type         string // such as "(i32) -> i64"

	typ uint32
}

// Export is an export of a module.
type Export struct {
	Name string
	Type string // of a function as in Import, otherwise "memory", "table", "global"

	kind  byte
	index uint32
}

type table struct {
	elemType valueType
	limits
}

type global struct {
	valType valueType
	mutable bool
	init    instruction // a constant instruction
}

// importItem reads an import. Only functions can be imported: all other items belong to one instance.
func (m *module) importItem(r *reader) {
	i := Import{Module: r.Name(), Name: r.Name()}
	switch kind := r.Byte(); {
	case r.Err != nil:
	case kind == kindFunc:
		i.typ = m.typeIndex(r)
	case int(kind) < len(kindNames):
		r.Feature("import of a %s: %s.%s", kindNames[kind], shown(i.Module), shown(i.Name))
	case kind == kindTag:
		r.Feature("exceptions (import of a tag)")
	default:
		r.Fail("import of kind %#x", kind)
	}
	m.count[kindFunc]++
	m.imports = append(m.imports, i)
}

// typeIndex reads the index of a type.
func (m *module) typeIndex(r *reader) uint32 {
	index := r.Linked()
	if r.Err == nil && uint64(index) >= uint64(len(m.types)) {
		r.Fail("unknown type %d", index)
	}
	return index
}

// index reads the index of an item of a kind.
func (m *module) index(r *reader, kind byte) uint32 {
	index := r.Linked()
	m.known(r, kind, index)
	return index
}

// known refuses the index of an item that does not exist.
func (m *module) known(r *reader, kind byte, index uint32) {
	if r.Err == nil && index >= m.count[kind] {
		r.Fail("unknown %s %d", kindNames[kind], index)
	}
}

// exportItem reads an export.
func (m *module) exportItem(r *reader) {
	e := Export{Name: r.Name(), kind: r.Byte()}
	if int(e.kind) >= len(kindNames) {
		r.Fail("export of kind %#x", e.kind)
		return
	}
	e.index = m.index(r, e.kind)
	m.exports = append(m.exports, e)
}

// twiceExported returns a name of two exports, if any.
func (m *module) twiceExported() (string, bool) {
	names := make([]string, len(m.exports))
	for i, e := range m.exports {
		names[i] = e.Name
	}
	slices.Sort(names)
	for i := range names {
		if i > 0 && names[i] == names[i-1] {
			return names[i], true
		}
	}
	return "", false
}

// globalItem reads a global.
func (m *module) globalItem(r *reader) {
	g := global{valType: r.valueType(), mutable: r.mutable()}
	if g.init = m.constant(r, g.valType); g.init.op == opRefFunc {
		m.made++
	}
	m.globals = append(m.globals, g)
	m.count[kindGlobal]++
}

// constant reads an expression of one constant instruction with a result of the given type.
func (m *module) constant(r *reader, want valueType) instruction {
	in := *r.instruction()
	in.labels = nil
	got := want
	switch {
	case r.Err != nil:
		return in
	case in.op == opI32Const:
		got = typeI32
	case in.op == opI64Const:
		got = typeI64
	case in.op == opF32Const:
		got = typeF32
	case in.op == opF64Const:
		got = typeF64
	case in.op == opPrefixSIMD && in.sub == simdConst:
		got = typeV128
	case in.op == opRefNull:
		got = in.typ
	case in.op == opRefFunc:
		got = typeFuncRef
		m.known(r, kindFunc, in.a)
	case in.op == opGlobalGet:
		r.Feature("global.get in a constant expression: globals are not imported")
	default:
		r.Fail("%s is not constant", in.form().name)
	}
	if got != want {
		r.Fail("constant of type %s where %s is expected", got, want)
	}
	if end := r.instruction(); r.Err == nil && end.op != opEnd {
		r.Feature("extended constant expressions (%s)", end.form().name)
	}
	return in
}

// appendConstant appends a constant expression.
func appendConstant(out []byte, in *instruction) []byte {
	return append(appendInstruction(out, in), opEnd)
}

// appendFuncType appends the type of a function.
func appendFuncType(out []byte, t funcType) []byte {
	out = append(out, 0x60)
	for _, types := range [][]valueType{t.params, t.results} {
		out = wasm.AppendU32(out, uint32(len(types)))
		for _, v := range types {
			out = append(out, byte(v))
		}
	}
	return out
}

// appendLimits appends limits.
func appendLimits(out []byte, l limits) []byte {
	if !l.bounded {
		return wasm.AppendU32(append(out, 0), l.min)
	}
	return wasm.AppendU32(wasm.AppendU32(append(out, 1), l.min), l.max)
}

// appendImport appends the import of a function.
func appendImport(out []byte, module, name string, typ uint32) []byte {
	out = wasm.AppendName(wasm.AppendName(out, module), name)
	return wasm.AppendU32(append(out, kindFunc), typ)
}

func (m *module) appendImport(out []byte, i int) []byte {
	return appendImport(out, m.imports[i].Module, m.imports[i].Name, m.imports[i].typ)
}

// appendGlobal appends a global.
func appendGlobal(out []byte, g *global) []byte {
	return appendConstant(append(out, byte(g.valType), boolByte(g.mutable)), &g.init)
}

// appendExport appends an export.
func appendExport(out []byte, name string, kind byte, index uint32) []byte {
	return wasm.AppendU32(append(wasm.AppendName(out, name), kind), index)
}

// isReserved reports whether Prepare uses a name for its own exports.
func isReserved(name string) bool { return strings.HasPrefix(name, reserved) }

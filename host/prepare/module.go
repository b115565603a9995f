package prepare

import (
	"bytes"
	"fmt"
)

// Ids of sections.
//
// See https://www.w3.org/TR/wasm-core-2/#sections%E2%91%A0
const (
	secCustom = iota
	secType
	secImport
	secFunction
	secTable
	secMemory
	secGlobal
	secExport
	secStart
	secElement
	secCode
	secData
	secDataCount
	secTag // of the exceptions proposal
)

// sectionOrder is the place of each section in a module.
var sectionOrder = [...]int{
	secType: 1, secImport: 2, secFunction: 3, secTable: 4, secMemory: 5, secGlobal: 6,
	secExport: 7, secStart: 8, secElement: 9, secDataCount: 10, secCode: 11, secData: 12,
}

// Kinds of imports and exports.
const (
	kindFunc = iota
	kindTable
	kindMemory
	kindGlobal
)

var kindNames = [...]string{"function", "table", "memory", "global"}

var (
	magicCore      = []byte("\x00asm\x01\x00\x00\x00")
	magicComponent = []byte("\x00asm\x0d\x00\x01\x00")
)

// module is a module taken apart. Indices are those of the original.
type module struct {
	types     [][]byte // encoded function types
	imports   []Import
	funcs     []uint32 // type indices of the functions of the module itself
	tables    []table
	memories  []memory
	globals   []global
	exports   []Export
	start     *uint32
	elements  []byte // raw, but for the vector's length
	elementsN uint32
	bodies    [][]byte // raw function bodies: locals, then code
	data      []dataSegment
	names     []byte // raw contents of the name section

	importTypes []uint32 // type indices of the imported functions
}

type table struct {
	elemType byte
	min      uint32
	max      *uint32
}

type memory struct {
	min uint32
	max *uint32
}

type global struct {
	valType byte
	mutable bool
	init    []byte // the expression, its end included
}

type dataSegment struct {
	passive bool
	offset  []byte // the expression of an active one, its end included
	bytes   []byte
}

// importedFuncs is the number of imported functions, and the index of the first own one.
func (m *module) importedFuncs() uint32 { return uint32(len(m.importTypes)) }

// funcCount is the number of all functions, imported ones included.
func (m *module) funcCount() uint32 { return m.importedFuncs() + uint32(len(m.funcs)) }

// insteadOf says what somebody may have taken for a module; nothing if that is unknown.
func insteadOf(bin []byte) string {
	for _, known := range []struct{ begin, what string }{
		{"\x7fELF", ", but a native program (in Go: GOOS=wasip1 GOARCH=wasm)"},
		{"\xcf\xfa\xed\xfe", ", but a native program (in Go: GOOS=wasip1 GOARCH=wasm)"},
		{"MZ", ", but a native program (in Go: GOOS=wasip1 GOARCH=wasm)"},
		{"!<arch>", ", but a native library"},
		{"(module", ", but WebAssembly as text"},
		{"\x1f\x8b", ", but a compressed file"},
	} {
		if bytes.HasPrefix(bin, []byte(known.begin)) {
			return known.what
		}
	}
	if len(bin) == 0 {
		return ": it is empty"
	}
	return ""
}

// parse takes a module apart.
func parse(bin []byte) (*module, error) {
	switch {
	case bytes.HasPrefix(bin, magicComponent):
		return nil, fmt.Errorf("%w: a WebAssembly component, not a core module", ErrFeature)
	case !bytes.HasPrefix(bin, magicCore[:4]):
		return nil, fmt.Errorf("%w: not a WebAssembly file%s", ErrMalformed, insteadOf(bin))
	case !bytes.HasPrefix(bin, magicCore):
		return nil, fmt.Errorf("%w: unknown version of the binary format", ErrMalformed)
	}
	m := &module{}
	r := &reader{buf: bin, pos: len(magicCore)}
	last := 0
	for r.more() {
		id := r.byte()
		data := r.bytes(r.u32())
		if r.err != nil {
			return nil, r.err
		}
		if id != secCustom {
			if id == secTag {
				return nil, fmt.Errorf("%w: exceptions (tag section)", ErrFeature)
			}
			if int(id) >= len(sectionOrder) || sectionOrder[id] <= last {
				return nil, fmt.Errorf("%w: section %d is unknown, twice, or out of order", ErrMalformed, id)
			}
			last = sectionOrder[id]
		}
		if err := m.section(id, data); err != nil {
			return nil, err
		}
	}
	if r.err == nil && len(m.funcs) != len(m.bodies) {
		r.fail("%d functions, but %d bodies", len(m.funcs), len(m.bodies))
	}
	return m, r.err
}

// section reads the contents of one section.
func (m *module) section(id byte, data []byte) error {
	r := &reader{buf: data}
	switch id {
	case secCustom:
		if r.name() == "name" && m.names == nil && r.err == nil {
			m.names = data[r.pos:]
		}
		return nil // whatever custom sections hold, it does not matter
	case secStart:
		index := r.u32()
		m.start = &index
	case secDataCount:
		r.u32() // the engine compares it with the original
	case secElement:
		m.elementsN = r.count()
		m.elements = data[r.pos:]
		return r.err
	default:
		n := r.count()
		for m.expect(id, int(n)); n > 0 && r.err == nil; n-- {
			m.item(id, r)
		}
	}
	if r.err == nil && r.pos != len(data) {
		r.fail("bytes left in section %d", id)
	}
	return r.err
}

// expect makes room for the items of sections that are long: standard Go has tens of
// thousands of data segments. What is announced is believed up to a point.
func (m *module) expect(id byte, n int) {
	n = min(n, 1<<16)
	switch id {
	case secFunction:
		m.funcs = make([]uint32, 0, n)
	case secCode:
		m.bodies = make([][]byte, 0, n)
	case secData:
		m.data = make([]dataSegment, 0, n)
	}
}

// item reads one item of a section that is a vector.
func (m *module) item(id byte, r *reader) {
	switch id {
	case secType:
		m.types = append(m.types, r.funcType())
	case secImport:
		in := r.importItem()
		m.imports = append(m.imports, in)
		if in.kind == kindFunc {
			m.importTypes = append(m.importTypes, in.index)
		}
	case secFunction:
		m.funcs = append(m.funcs, r.u32())
	case secTable:
		elemType := r.byte()
		min, max := r.limits()
		m.tables = append(m.tables, table{elemType, min, max})
	case secMemory:
		min, max := r.limits()
		m.memories = append(m.memories, memory{min, max})
	case secGlobal:
		m.globals = append(m.globals, r.globalItem())
	case secExport:
		m.exports = append(m.exports, Export{Name: r.name(), kind: r.byte(), index: r.u32()})
	case secCode:
		m.bodies = append(m.bodies, r.bytes(r.u32()))
	case secData:
		m.data = append(m.data, r.dataItem())
	}
}

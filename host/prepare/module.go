package prepare

import (
	"fmt"

	"github.com/kopf-wasm/kopf/host/internal/wasm"
)

// Errors of modules, see also ErrLimit.
var (
	// ErrMalformed says that bytes are not WebAssembly.
	ErrMalformed = wasm.ErrMalformed

	// ErrFeature says that a module uses an unsupported feature of WebAssembly.
	ErrFeature = wasm.ErrFeature
)

// maxPages is the size of the largest memory.
const maxPages = 1 << 16

// module is a decoded module, except for its code. Indices are those of the original.
type module struct {
	types        []funcType
	imports      []Import
	funcs        []uint32 // type indices of the functions of the module itself
	tables       []table
	memories     []limits
	globals      []global
	exports      []Export
	start        *uint32
	elements     []byte // the segments, in their canonical encoding
	elementTypes []valueType
	data         []dataSegment
	names        []byte // the content of the name section, which is decoded at each use

	count      [4]uint32 // items of each kind so far, including imported ones
	references uint64    // in element segments
	passive    uint64    // of these, those in passive segments
	made       uint64    // those that each instance makes: of active and passive segments, and of globals
	dataCount  *uint32   // of the data count section; nil without it
}

// span is a part of the original module.
type span struct{ begin, end uint32 }

// importedFuncs is the number of imported functions, and the index of the first own one.
func (m *module) importedFuncs() uint32 { return uint32(len(m.imports)) }

// funcCount is the number of all functions, imported ones included.
func (m *module) funcCount() uint32 { return m.count[kindFunc] }

// typeOf returns the type of an existing function.
func (m *module) typeOf(fn uint32) uint32 {
	if fn < m.importedFuncs() {
		return m.imports[fn].typ
	}
	return m.funcs[fn-m.importedFuncs()]
}

// parse decodes a module, except for its code. It returns the positions of the bodies.
func parse(bin []byte) (*module, []span, error) {
	if uint64(len(bin)) > maxModule {
		return nil, nil, fmt.Errorf("%w: a module of %d MiB; at most %d", ErrLimit, len(bin)>>20, maxModule>>20)
	}
	m := &module{}
	var code []span
	err := wasm.Sections(bin, func(s wasm.Section, r *wasm.Reader) error {
		if s.ID == wasm.SectionCode {
			code = bodies(&reader{Reader: r})
			return nil
		}
		return m.section(s, &reader{Reader: r})
	})
	if err == nil {
		err = m.complete(len(code))
	}
	return m, code, err
}

// complete checks the conditions between sections.
func (m *module) complete(bodies int) error {
	if len(m.funcs) != bodies {
		return fmt.Errorf("%w: %d functions, but %d bodies", ErrMalformed, len(m.funcs), bodies)
	}
	if m.dataCount != nil && uint64(*m.dataCount) != uint64(len(m.data)) {
		return fmt.Errorf("%w: %d data segments, but a data count of %d", ErrMalformed, len(m.data), *m.dataCount)
	}
	if name, twice := m.twiceExported(); twice {
		return fmt.Errorf("%w: two exports of the name %s", ErrMalformed, shown(name))
	}
	return nil
}

// section reads the content of one section.
func (m *module) section(s wasm.Section, r *reader) error {
	switch s.ID {
	case wasm.SectionCustom:
		if s.Name == "name" && m.names == nil {
			m.names = r.Buf[r.Pos:]
		}
	case wasm.SectionStart:
		m.startItem(r)
	case wasm.SectionDataCount:
		n := r.Linked()
		m.dataCount = &n
	default:
		return m.vector(s.ID, r)
	}
	return nil
}

// bounds are the maximum numbers of items in sections. They bound the memory of the parser and of engines.
var bounds = map[byte]struct {
	what string
	most int
}{
	wasm.SectionType:   {"types", maxTypes},
	wasm.SectionImport: {"imports", maxImports},
	wasm.SectionTable:  {"tables", maxTables},
	wasm.SectionMemory: {"memories", 1},
	wasm.SectionGlobal: {"globals", maxGlobals},
	wasm.SectionExport: {"exports", maxExports},
	wasm.SectionData:   {"data segments", maxData},
}

// vector reads a section that is a vector of items.
func (m *module) vector(id byte, r *reader) error {
	n := r.Count()
	if bound, ok := bounds[id]; ok && int64(n) > int64(bound.most) {
		if id == wasm.SectionMemory {
			return fmt.Errorf("%w: multi-memory", ErrFeature)
		}
		return fmt.Errorf("%w: %d %s; at most %d", ErrLimit, n, bound.what, bound.most)
	}
	m.expect(id, int(n))
	for i := uint32(0); i < n && r.Err == nil; i++ {
		if m.item(id, r); r.Err != nil {
			return fmt.Errorf("item %d: %w", i, r.Err)
		}
	}
	return nil
}

// expect allocates room for the items of long sections. Each item takes at least a byte.
func (m *module) expect(id byte, n int) {
	switch id {
	case wasm.SectionType:
		m.types = make([]funcType, 0, n)
	case wasm.SectionFunction:
		m.funcs = make([]uint32, 0, n)
	case wasm.SectionExport:
		m.exports = make([]Export, 0, n)
	case wasm.SectionData:
		m.data = make([]dataSegment, 0, n)
	}
}

// item reads one item of a section that is a vector.
func (m *module) item(id byte, r *reader) {
	switch id {
	case wasm.SectionType:
		m.types = append(m.types, r.funcType())
	case wasm.SectionImport:
		m.importItem(r)
	case wasm.SectionFunction:
		m.funcs = append(m.funcs, m.typeIndex(r))
		m.count[kindFunc]++
	case wasm.SectionTable:
		m.tables = append(m.tables, table{r.refType(), r.limits(1<<32 - 1)})
		m.count[kindTable]++
	case wasm.SectionMemory:
		m.memories = append(m.memories, r.limits(maxPages))
		m.count[kindMemory]++
	case wasm.SectionGlobal:
		m.globalItem(r)
	case wasm.SectionExport:
		m.exportItem(r)
	case wasm.SectionElement:
		m.elementItem(r)
	case wasm.SectionData:
		m.dataItem(r)
	}
}

// startItem reads the index of the start function.
func (m *module) startItem(r *reader) {
	index := m.index(r, kindFunc)
	if r.Err != nil {
		return
	}
	if t := m.types[m.typeOf(index)]; len(t.params)+len(t.results) > 0 {
		r.Fail("start function of type %s", t)
	}
	m.start = &index
}

// bodies finds the bodies of the functions.
func bodies(r *reader) []span {
	n := r.Count()
	all := make([]span, 0, n)
	for ; n > 0 && r.Err == nil; n-- {
		size := r.Linked()
		begin := r.Pos
		r.Take(size)
		all = append(all, span{uint32(begin), uint32(r.Pos)})
	}
	return all
}

package prepare

import "github.com/kopf-wasm/kopf/host/internal/wasm"

// dataSegment is a data segment. Its content belongs to the original module.
type dataSegment struct {
	passive bool
	offset  uint32 // of an active one
	bytes   []byte
}

// dataItem reads a data segment.
func (m *module) dataItem(r *reader) {
	var d dataSegment
	switch flags := r.U32(); flags {
	case 0:
		d.offset = m.offset(r)
	case 1:
		d.passive = true
	case 2:
		r.memory()
		d.offset = m.offset(r)
	default:
		r.Fail("data segment with flags %#x", flags)
	}
	if !d.passive && r.Err == nil && m.count[kindMemory] == 0 {
		r.Fail("unknown memory 0")
	}
	d.bytes = r.Take(r.Linked())
	m.data = append(m.data, d)
}

// offset reads the offset of an active segment.
func (m *module) offset(r *reader) uint32 {
	in := m.constant(r, typeI32)
	return uint32(in.value)
}

// appendData appends a data segment.
func appendData(out []byte, d dataSegment) []byte {
	if d.passive {
		return wasm.AppendSized(append(out, 1), d.bytes)
	}
	out = wasm.AppendSigned(append(out, 0, opI32Const), int64(int32(d.offset)))
	return wasm.AppendSized(append(out, opEnd), d.bytes)
}

// Bits of the flags of element segments.
const (
	elemPassive     = 1 << iota // or declarative
	elemExplicit                // has a table and a type, or is declarative
	elemExpressions             // the elements are expressions

	elemDeclared = elemPassive | elemExplicit // nothing is made of it
)

// element is an element segment without its elements.
type element struct {
	flags   uint32
	table   uint32 // of an active one
	offset  uint32
	typ     valueType
	count   uint32 // of the elements
	written bool   // the encoding has its type
}

// active reports whether the segment is copied into a table at the start.
func (e *element) active() bool { return e.flags&elemPassive == 0 }

// element reads a segment up to its elements.
//
// See https://www.w3.org/TR/wasm-core-2/#element-section%E2%91%A0
func (m *module) element(r *reader) element {
	e := element{flags: r.U32(), typ: typeFuncRef}
	if e.flags > elemPassive|elemExplicit|elemExpressions {
		r.Fail("element segment with flags %#x", e.flags)
	}
	if e.active() {
		if e.flags&elemExplicit != 0 {
			e.table = r.Linked()
		}
		e.offset = m.offset(r)
	}
	if e.written = e.flags&(elemPassive|elemExplicit) != 0; e.written {
		e.typ = r.elementType(e.flags&elemExpressions != 0)
	}
	if r.Err == nil && e.active() {
		m.fitsTable(r, e)
	}
	e.count = r.Count()
	return e
}

// elementType reads the type of elements: a reference type, or the only kind of indices.
func (r *reader) elementType(expressions bool) valueType {
	if expressions {
		return r.refType()
	}
	if kind := r.Byte(); kind != 0 {
		r.Fail("elements of kind %#x", kind)
	}
	return typeFuncRef
}

// fitsTable refuses an active segment for a missing table, or for one of another type.
func (m *module) fitsTable(r *reader, e element) {
	switch {
	case e.table >= m.count[kindTable]:
		r.Fail("unknown table %d", e.table)
	case uint64(e.table) < uint64(len(m.tables)) && m.tables[e.table].elemType != e.typ:
		r.Fail("elements of type %s for table %d of type %s", e.typ, e.table, m.tables[e.table].elemType)
	}
}

// reference reads one element of a segment, as a constant instruction.
func (m *module) reference(r *reader, e *element) instruction {
	if e.flags&elemExpressions != 0 {
		return m.constant(r, e.typ)
	}
	return instruction{op: opRefFunc, a: m.index(r, kindFunc)}
}

// appendElement appends a segment up to its elements.
func appendElement(out []byte, e *element) []byte {
	out = wasm.AppendU32(out, e.flags)
	if e.active() {
		if e.flags&elemExplicit != 0 {
			out = wasm.AppendU32(out, e.table)
		}
		out = wasm.AppendSigned(append(out, opI32Const), int64(int32(e.offset)))
		out = append(out, opEnd)
	}
	switch {
	case e.written && e.flags&elemExpressions != 0:
		out = append(out, byte(e.typ))
	case e.written:
		out = append(out, 0)
	}
	return wasm.AppendU32(out, e.count)
}

// appendReference appends one element of a segment.
func appendReference(out []byte, e *element, in *instruction) []byte {
	if e.flags&elemExpressions != 0 {
		return appendConstant(out, in)
	}
	return wasm.AppendU32(out, in.a)
}

// elementItem reads a segment, and keeps its canonical encoding, because segments may have very many elements.
func (m *module) elementItem(r *reader) {
	e := m.element(r)
	if m.references += uint64(e.count) + 1; m.references > maxReferences { // an empty segment takes memory, too
		r.Stop(ErrLimit, "more than %d references in element segments", maxReferences)
		return
	}
	if r.Err == nil && e.active() && uint64(e.table) < uint64(len(m.tables)) && uint64(e.offset)+uint64(e.count) > uint64(m.tables[e.table].min) {
		r.Stop(ErrLimit, "elements %d to %d lie outside of table %d, which begins with %d", e.offset, uint64(e.offset)+uint64(e.count), e.table, m.tables[e.table].min)
		return
	}
	if !e.active() {
		m.passive += uint64(e.count)
	}
	if e.flags&elemDeclared != elemDeclared {
		m.made += uint64(e.count)
	}
	m.elements = appendElement(m.elements, &e)
	for n := e.count; n > 0; n-- {
		in := m.reference(r, &e)
		if r.Err != nil {
			return
		}
		m.elements = appendReference(m.elements, &e, &in)
	}
	m.elementTypes = append(m.elementTypes, e.typ)
}

// shiftedElements returns the element segments with the indices of functions in the new module.
func (m *module) shiftedElements(shift func(fn uint32) uint32) []byte {
	r := newReader(m.elements)
	out := make([]byte, 0, len(m.elements)+len(m.elements)/8)
	for range m.elementTypes {
		e := m.element(r)
		out = appendElement(out, &e)
		for range e.count {
			in := m.reference(r, &e)
			in.a = shift(in.a)
			out = appendReference(out, &e, &in)
		}
	}
	return out
}

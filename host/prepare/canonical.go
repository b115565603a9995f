package prepare

import (
	"cmp"
	"fmt"

	"github.com/kopf-wasm/kopf/host/internal/wasm"
)

// canonicalCode holds the bodies of functions in their canonical encoding: written from decoded
// instructions, not copied. The rewriter reads only these.
type canonicalCode struct {
	buf  []byte
	ends []uint32
}

// body returns the body of a function of the module itself: the declarations of its locals, then its code.
func (c *canonicalCode) body(i int) []byte {
	begin := uint32(0)
	if i > 0 {
		begin = c.ends[i-1]
	}
	return c.buf[begin:c.ends[i]:c.ends[i]]
}

// canonicalCode decodes all functions, checks all indices in them, and encodes what was decoded.
func (s *Source) canonicalCode() (*canonicalCode, error) {
	size := uint32(0)
	for _, b := range s.code {
		size += b.end - b.begin
	}
	c := &canonicalCode{buf: make([]byte, 0, size), ends: make([]uint32, 0, len(s.code))}
	d := &decoder{m: s.m, reader: reader{Reader: &wasm.Reader{}}}
	for i, b := range s.code {
		*d.Reader = wasm.Reader{Buf: s.bin[:b.end:b.end], Pos: int(b.begin)}
		if c.buf = d.function(c.buf, &s.m.types[s.m.funcs[i]]); d.Err != nil {
			return nil, fmt.Errorf("function %s: %w", s.m.funcName(uint32(i)+s.m.importedFuncs()), d.Err)
		}
		c.ends = append(c.ends, uint32(len(c.buf)))
	}
	return c, nil
}

// decoder reads the functions of a module, and refuses indices of missing items.
type decoder struct {
	reader
	m      *module
	locals uint64 // of the function, parameters included
	blocks []byte // opcodes of the open blocks; the first one is the function
}

// function reads the body of a function of the given type, and appends it.
func (d *decoder) function(out []byte, t *funcType) []byte {
	out = d.declarations(out, uint64(len(t.params)))
	d.blocks = append(d.blocks[:0], opBlock)
	for len(d.blocks) > 0 && d.Err == nil {
		at := d.Pos
		in := d.instruction()
		if d.Err == nil {
			d.check(in, at)
		}
		if d.Err == nil {
			out = appendInstruction(out, in)
		}
	}
	if d.More() {
		d.Fail("bytes after the end of a function")
	}
	return out
}

// declarations reads the declarations of local variables.
func (d *decoder) declarations(out []byte, params uint64) []byte {
	n := d.Count()
	out = wasm.AppendU32(out, n)
	locals := uint64(0)
	for ; n > 0 && d.Err == nil; n-- {
		same := d.Linked()
		typ := d.valueType()
		out = append(wasm.AppendU32(out, same), byte(typ))
		locals += uint64(same)
	}
	if locals > maxLocals {
		d.Stop(ErrLimit, "%d locals; at most %d", locals, maxLocals)
	}
	d.locals = params + locals
	return out
}

// check refuses the instruction at a position if it refers to a missing item, or is misplaced.
func (d *decoder) check(in *instruction, at int) {
	fault := d.fault(in)
	if fault == "" {
		fault = d.misplaced(in)
	}
	if fault != "" {
		d.Pos = at
		d.Fail("%s: %s", in.form().name, fault)
	}
}

// fault describes a wrong index in an instruction. It is empty if all indices exist.
func (d *decoder) fault(in *instruction) string {
	m := d.m
	switch in.form().imm {
	case immFunction:
		return unknown("function", in.a, uint64(m.funcCount()))
	case immLocal:
		return unknown("local variable", in.a, d.locals)
	case immGlobal:
		if in.op == opGlobalSet && uint64(in.a) < uint64(len(m.globals)) && !m.globals[in.a].mutable {
			return fmt.Sprintf("global %d cannot be changed", in.a)
		}
		return unknown("global", in.a, uint64(len(m.globals)))
	case immTable:
		return unknown("table", in.a, uint64(len(m.tables)))
	case immTables:
		return cmp.Or(unknown("table", in.a, uint64(len(m.tables))), unknown("table", in.b, uint64(len(m.tables))))
	case immIndirect:
		return cmp.Or(unknown("type", in.a, uint64(len(m.types))), unknown("table", in.b, uint64(len(m.tables))))
	case immBlock:
		if in.blockType >= 0 {
			return unknown("type", uint32(in.blockType), uint64(len(m.types)))
		}
	case immElem:
		return unknown("element segment", in.a, uint64(len(m.elementTypes)))
	case immElemInit:
		return cmp.Or(unknown("element segment", in.a, uint64(len(m.elementTypes))), unknown("table", in.b, uint64(len(m.tables))))
	case immData, immDataInit:
		if m.dataCount == nil {
			return "there is no data count"
		}
		return unknown("data segment", in.a, uint64(*m.dataCount))
	}
	return ""
}

// unknown describes an index that is not below the count. It is empty otherwise.
func unknown(what string, index uint32, count uint64) string {
	if uint64(index) < count {
		return ""
	}
	return fmt.Sprintf("unknown %s %d", what, index)
}

// misplaced tracks blocks, and describes a wrong label or block end. It returns an empty text otherwise.
func (d *decoder) misplaced(in *instruction) string {
	switch in.op {
	case opBlock, opLoop, opIf:
		d.blocks = append(d.blocks, in.op)
	case opElse:
		top := &d.blocks[len(d.blocks)-1]
		if *top != opIf {
			return "there is no if"
		}
		*top = opElse
	case opEnd:
		d.blocks = d.blocks[:len(d.blocks)-1]
	case opBr, opBrIf:
		return unknown("label", in.a, uint64(len(d.blocks)))
	case opBrTable:
		for _, label := range in.labels {
			if fault := unknown("label", label, uint64(len(d.blocks))); fault != "" {
				return fault
			}
		}
	}
	return ""
}

// appendCanonical appends the module in its canonical encoding, without custom sections.
func (m *module) appendCanonical(out []byte, code *canonicalCode) []byte {
	out = append(out, wasm.Magic...)
	out = appendVector(out, wasm.SectionType, len(m.types), func(out []byte, i int) []byte { return appendFuncType(out, m.types[i]) })
	out = appendVector(out, wasm.SectionImport, len(m.imports), m.appendImport)
	out = appendVector(out, wasm.SectionFunction, len(m.funcs), func(out []byte, i int) []byte { return wasm.AppendU32(out, m.funcs[i]) })
	out = appendVector(out, wasm.SectionTable, len(m.tables), func(out []byte, i int) []byte {
		return appendLimits(append(out, byte(m.tables[i].elemType)), m.tables[i].limits)
	})
	out = appendVector(out, wasm.SectionMemory, len(m.memories), func(out []byte, i int) []byte { return appendLimits(out, m.memories[i]) })
	out = appendVector(out, wasm.SectionGlobal, len(m.globals), func(out []byte, i int) []byte { return appendGlobal(out, &m.globals[i]) })
	out = appendVector(out, wasm.SectionExport, len(m.exports), func(out []byte, i int) []byte {
		return appendExport(out, m.exports[i].Name, m.exports[i].kind, m.exports[i].index)
	})
	if m.start != nil {
		out = wasm.AppendSection(out, wasm.SectionStart, wasm.AppendU32(nil, *m.start))
	}
	out = appendJoined(out, wasm.SectionElement, len(m.elementTypes), m.elements)
	if m.dataCount != nil {
		out = wasm.AppendSection(out, wasm.SectionDataCount, wasm.AppendU32(nil, *m.dataCount))
	}
	out = appendVector(out, wasm.SectionCode, len(m.funcs), func(out []byte, i int) []byte { return wasm.AppendSized(out, code.body(i)) })
	return appendVector(out, wasm.SectionData, len(m.data), func(out []byte, i int) []byte { return appendData(out, m.data[i]) })
}

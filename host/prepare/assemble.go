package prepare

import (
	"fmt"
	"strconv"

	"github.com/kopf-wasm/kopf/host/internal/wasm"
)

// assemble writes the new module.
func (w *rewriter) assemble(bodies []byte, globals []uint32, limits Limits) ([]byte, error) {
	m := w.m
	if w.usesData && len(m.data) > maxSegments {
		return nil, fmt.Errorf("%w: %d data segments; at most %d", ErrLimit, len(m.data), maxSegments)
	}
	enter := w.addEnter(m.entries())
	for _, h := range w.helpers {
		bodies = wasm.AppendSized(bodies, h.body)
	}
	out := make([]byte, 0, len(bodies)+len(m.names)+len(m.elements)+1<<16)
	out = append(out, wasm.Magic...)
	out = appendVector(out, wasm.SectionType, len(w.types), func(out []byte, i int) []byte { return appendFuncType(out, w.types[i]) })
	out = appendVector(out, wasm.SectionImport, len(m.imports)+1, w.appendImport)
	out = appendVector(out, wasm.SectionFunction, len(m.funcs)+len(w.helpers), w.appendFunction)
	out = appendVector(out, wasm.SectionTable, len(m.tables), w.appendTable)
	out = appendVector(out, wasm.SectionMemory, len(m.memories), func(out []byte, i int) []byte {
		return appendLimits(out, m.memories[i].atMost(limits.MemoryPages))
	})
	out = appendVector(out, wasm.SectionGlobal, len(m.globals)+2+len(w.references.funcs), w.appendGlobal)
	out = w.appendExports(out, globals, enter)
	out = appendJoined(out, wasm.SectionElement, len(m.elementTypes), m.shiftedElements(w.shift))
	if w.usesData {
		out = wasm.AppendSection(out, wasm.SectionDataCount, wasm.AppendU32(nil, uint32(len(m.data))))
	}
	out = appendJoined(out, wasm.SectionCode, len(m.funcs)+len(w.helpers), bodies)
	if w.usesData {
		out = appendVector(out, wasm.SectionData, len(m.data), w.appendData)
	}
	return w.appendNames(out), nil
}

// appendVector appends a section that is a vector, unless it is empty.
func appendVector(out []byte, id byte, n int, item func(out []byte, i int) []byte) []byte {
	if n == 0 {
		return out
	}
	const room = 5 // for the size, which is written last
	out = append(append(out, id), make([]byte, room)...)
	begin := len(out)
	out = wasm.AppendU32(out, uint32(n))
	for i := range n {
		out = item(out, i)
	}
	size := wasm.AppendU32(nil, uint32(len(out)-begin))
	copy(out[begin-room:], size)
	copy(out[begin-room+len(size):], out[begin:])
	return out[:len(out)-room+len(size)]
}

// appendJoined is appendVector for encoded items.
func appendJoined(out []byte, id byte, n int, items []byte) []byte {
	if n == 0 {
		return out
	}
	count := wasm.AppendU32(nil, uint32(n))
	out = wasm.AppendU32(append(out, id), uint32(len(count)+len(items)))
	return append(append(out, count...), items...)
}

// appendImport appends an import of the original, or yield after the last one.
func (w *rewriter) appendImport(out []byte, i int) []byte {
	if i == len(w.m.imports) {
		return appendImport(out, HostModule, Yield, w.addType(yieldType))
	}
	return w.m.appendImport(out, i)
}

// appendFunction appends the type index of a function of the original, or of a helper after the last one.
func (w *rewriter) appendFunction(out []byte, i int) []byte {
	if i < len(w.m.funcs) {
		return wasm.AppendU32(out, w.m.funcs[i])
	}
	return wasm.AppendU32(out, w.helpers[i-len(w.m.funcs)].typ)
}

// appendTable appends a table with an upper bound.
func (w *rewriter) appendTable(out []byte, i int) []byte {
	t := w.m.tables[i]
	return appendLimits(append(out, byte(t.elemType)), t.atMost(w.m.maxElements()))
}

// appendGlobal appends a global of the original, or the counter, Refused and references after the last one.
func (w *rewriter) appendGlobal(out []byte, i int) []byte {
	switch uint32(i) {
	case w.counter:
		return appendGlobal(out, &global{valType: typeI64, mutable: true, init: instruction{op: opI64Const, value: Budget}})
	case w.refused:
		return appendGlobal(out, &global{valType: typeI32, mutable: true, init: instruction{op: opI32Const}})
	}
	if first := int(w.references.first); i >= first {
		return appendReferenceGlobal(out, w.shift(w.references.funcs[i-first]))
	}
	g := w.m.globals[i]
	if g.init.op == opRefFunc {
		g.init.a = w.shift(g.init.a)
	}
	return appendGlobal(out, &g)
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// appendExports writes the exports of the original, the start function, Enter, Refused, and
// the globals that make up the state of an instance.
func (w *rewriter) appendExports(out []byte, globals []uint32, enter uint32) []byte {
	all := []Export{{Name: Enter, kind: kindFunc, index: enter}, {Name: Refused, kind: kindGlobal, index: w.refused}}
	if w.m.start != nil {
		all = append(all, Export{Name: Start, kind: kindFunc, index: w.shift(*w.m.start)})
	}
	for i, g := range globals {
		all = append(all, Export{Name: GlobalPrefix + strconv.Itoa(i), kind: kindGlobal, index: g})
	}
	return appendVector(out, wasm.SectionExport, len(w.m.exports)+len(all), func(out []byte, i int) []byte {
		if i >= len(w.m.exports) {
			e := all[i-len(w.m.exports)]
			return appendExport(out, e.Name, e.kind, e.index)
		}
		e := w.m.exports[i]
		if e.kind == kindFunc {
			e.index = w.shift(e.index)
		}
		return appendExport(out, e.Name, e.kind, e.index)
	})
}

// appendData appends a data segment. It appends an active one without its content, so
// that the indices of the passive ones do not change. Only modules with instructions that use segments need it.
func (w *rewriter) appendData(out []byte, i int) []byte {
	d := w.m.data[i]
	if !d.passive {
		d = dataSegment{}
	}
	return appendData(out, d)
}

package prepare

import (
	"fmt"
	"strconv"
)

// assemble writes the new module.
func (w *rewriter) assemble(bodies []byte, globals []uint32, limits Limits) ([]byte, error) {
	elements, err := w.elements()
	if err != nil {
		return nil, err
	}
	enter := w.addEnter(w.m.entries())
	inits, err := w.globals()
	if err != nil {
		return nil, err
	}
	m := w.m
	out := make([]byte, 0, len(bodies)+len(m.names)+len(m.elements)+1<<16)
	out = append(out, magicCore...)
	out = appendVector(out, secType, len(w.types), join(w.types))
	out = appendVector(out, secImport, len(m.imports)+1, w.imports())
	out = appendVector(out, secFunction, len(m.funcs)+len(w.helpers), w.functions())
	out = appendVector(out, secTable, len(m.tables), w.tables())
	out = appendVector(out, secMemory, len(m.memories), w.memories(limits))
	out = appendVector(out, secGlobal, len(m.globals)+1, inits)
	out = w.appendExports(out, globals, enter)
	out = appendVector(out, secElement, int(m.elementsN), elements)
	if w.usesData && len(m.data) > maxSegments {
		return nil, fmt.Errorf("%w: %d data segments; at most %d", ErrLimit, len(m.data), maxSegments)
	}
	if w.usesData {
		out = appendSection(out, secDataCount, appendU32(nil, uint32(len(m.data))))
	}
	for _, h := range w.helpers {
		bodies = appendSized(bodies, h.body)
	}
	out = appendVector(out, secCode, len(m.bodies)+len(w.helpers), bodies)
	if w.usesData {
		out = appendVector(out, secData, len(m.data), w.data())
	}
	return w.appendNames(out), nil
}

// appendVector appends a section that is a vector, unless it is empty.
func appendVector(out []byte, id byte, n int, items []byte) []byte {
	if n == 0 {
		return out
	}
	count := appendU32(nil, uint32(n))
	out = appendU32(append(out, id), uint32(len(count)+len(items)))
	return append(append(out, count...), items...)
}

func join(parts [][]byte) []byte {
	var out []byte
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func (w *rewriter) imports() []byte {
	var out []byte
	for _, i := range w.m.imports {
		out = appendName(appendName(out, i.Module), i.Name)
		out = appendU32(append(out, kindFunc), i.index)
	}
	out = appendName(appendName(out, HostModule), Yield)
	return appendU32(append(out, kindFunc), w.addType(yieldType))
}

func (w *rewriter) functions() []byte {
	var out []byte
	for _, t := range w.m.funcs {
		out = appendU32(out, t)
	}
	for _, h := range w.helpers {
		out = appendU32(out, h.typ)
	}
	return out
}

func (w *rewriter) tables() []byte {
	var out []byte
	for _, t := range w.m.tables {
		out = appendLimits(append(out, t.elemType), t.min, atMost(t.max, w.m.maxElements()))
	}
	return out
}

func (w *rewriter) memories(limits Limits) []byte {
	var out []byte
	for _, mem := range w.m.memories {
		out = appendLimits(out, mem.min, atMost(mem.max, limits.MemoryPages))
	}
	return out
}

// atMost is the smaller one of a bound that may be absent and another one.
func atMost(max *uint32, limit uint32) uint32 {
	if max == nil || *max > limit {
		return limit
	}
	return *max
}

func appendLimits(out []byte, min, max uint32) []byte {
	return appendU32(appendU32(append(out, 1), min), max)
}

// globals writes the globals and, as the last one, the counter.
func (w *rewriter) globals() ([]byte, error) {
	var out []byte
	for _, g := range w.m.globals {
		out = append(out, g.valType, boolByte(g.mutable))
		init, err := w.expression(g.init)
		if err != nil {
			return nil, err
		}
		out = append(out, init...)
	}
	out = append(out, typeI64, 1, opI64Const)
	return append(appendSigned(out, Budget), opEnd), nil
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// appendExports writes the exports of the original, the start function, Enter, and
// the globals that make up the state of an instance.
func (w *rewriter) appendExports(out []byte, globals []uint32, enter uint32) []byte {
	items := appendU32(append(appendName(nil, Enter), kindFunc), enter)
	n := 1 + len(w.m.exports) + len(globals)
	for _, e := range w.m.exports {
		index := e.index
		if e.kind == kindFunc {
			index = w.shift(index)
		}
		items = appendU32(append(appendName(items, e.Name), e.kind), index)
	}
	if w.m.start != nil {
		n++
		items = appendU32(append(appendName(items, Start), kindFunc), w.shift(*w.m.start))
	}
	for i, g := range globals {
		items = append(appendName(items, GlobalPrefix+strconv.Itoa(i)), kindGlobal)
		items = appendU32(items, g)
	}
	return appendVector(out, secExport, n, items)
}

// data writes the data segments; the active ones without their contents, so
// that the indices of the passive ones stay. It is only needed if instructions use them.
func (w *rewriter) data() []byte {
	var out []byte
	for _, d := range w.m.data {
		if d.passive {
			out = appendSized(append(out, 1), d.bytes)
			continue
		}
		out = append(out, 0, opI32Const, 0, opEnd, 0)
	}
	return out
}

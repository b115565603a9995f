package prepare

import (
	"slices"

	"github.com/kopf-wasm/kopf/host/internal/wasm"
)

// maxEntries bounds the functions that Enter can call. Modules with more exports have no Enter.
const maxEntries = 256

// Entries are the exported functions that Enter calls, by their numbers: those of up
// to three i32 that return nothing, an i32 or an i64.
func (s *Source) Entries() []string {
	var names []string
	for _, e := range s.m.entries() {
		names = append(names, e.Name)
	}
	return names
}

func (m *module) entries() []Export {
	var all []Export
	for _, e := range m.exports {
		if e.kind == kindFunc && isEntry(m.types[m.typeOf(e.index)]) {
			all = append(all, e)
		}
	}
	if len(all) > maxEntries {
		return nil
	}
	return all
}

func isEntry(t funcType) bool {
	if len(t.params) > EnterParams-1 || slices.ContainsFunc(t.params, func(v valueType) bool { return v != typeI32 }) {
		return false
	}
	return len(t.results) == 0 || len(t.results) == 1 && (t.results[0] == typeI32 || t.results[0] == typeI64)
}

// EnterParams is the number of parameters of Enter: the number of an entry, and up to three
// arguments.
const EnterParams = 4

// addEnter adds the function that calls the others, and returns its index. The engine
// keeps a stack of ten kilobytes for each function that the host has called.
func (w *rewriter) addEnter(entries []Export) uint32 {
	out := []byte{0}
	for i, e := range entries {
		t := w.m.types[w.m.typeOf(e.index)]
		out = wasm.AppendSigned(append(out, opLocalGet, 0, opI32Const), int64(i))
		out = append(out, opI32Eq, opIf, typeEmpty)
		for p := range t.params {
			out = append(out, opLocalGet, byte(1+p))
		}
		out = wasm.AppendU32(append(out, opCall), w.shift(e.index))
		switch {
		case len(t.results) == 0:
			out = append(out, opI64Const, 0)
		case t.results[0] == typeI32:
			out = append(out, opI64ExtendI32)
		}
		out = append(out, opReturn, opEnd)
	}
	typ := w.addType(funcType{params: slices.Repeat([]valueType{typeI32}, EnterParams), results: []valueType{typeI64}})
	w.helpers = append(w.helpers, helper{Enter, typ, append(out, opUnreachable, opEnd)})
	return w.shift(w.m.funcCount()) + uint32(len(w.helpers)) - 1
}

package prepare

import "github.com/kopf-wasm/kopf/host/internal/wasm"

// references are the functions that ref.func names in code. The engine makes a reference at each execution of the instruction, and keeps it
// as long as the instance: a loop would take all memory of the host. So a global has the reference, and the instruction reads the global.
type references struct {
	first   uint32            // index of the first of these globals
	funcs   []uint32          // in the order of the globals; indices of the original
	globals map[uint32]uint32 // by the functions
}

// global returns the index of the global with the reference to a function.
func (r *references) global(fn uint32) uint32 {
	index, ok := r.globals[fn]
	if !ok {
		index = r.first + uint32(len(r.funcs))
		r.globals[fn] = index
		r.funcs = append(r.funcs, fn)
	}
	return index
}

// appendReferenceGlobal appends the global with the reference to a function, in the new module.
func appendReferenceGlobal(out []byte, fn uint32) []byte {
	return appendGlobal(out, &global{valType: typeFuncRef, init: instruction{op: opRefFunc, a: fn}})
}

// appendReferred appends what replaces ref.func.
func (w *rewriter) appendReferred(out []byte, fn uint32) []byte {
	return wasm.AppendU32(append(out, opGlobalGet), w.references.global(fn))
}

package prepare

import (
	"fmt"

	"github.com/kopf-wasm/kopf/host/internal/wasm"
)

// rewriter holds the parts that the new module adds to the original. It knows only decoded values and canonical code of the original.
type rewriter struct {
	m       *module
	code    *canonicalCode
	yield   uint32 // index of the imported function in the new module
	counter uint32 // index of the private global
	refused uint32 // index of the global with that name

	types     []funcType // of the original, then new ones
	typeIndex map[string]uint32

	reader     reader // of the current function
	tracer     tracer
	iterations reader // of the current loop

	helpers     []helper
	helperIndex map[helperKey]uint32
	references  references

	effort    uint64 // of the compilation of the functions so far
	unrolled  uint64 // the additional effort for short loops that are written several times
	locals    uint64 // of all functions so far
	usesData  bool   // an instruction refers to data segments
	cloneable bool   // no instruction so far changes more than memory and globals
	grows     bool   // an instruction lets tables grow
}

func newRewriter(m *module, code *canonicalCode) *rewriter {
	w := &rewriter{
		m:           m,
		code:        code,
		reader:      *newReader(nil),
		iterations:  *newReader(nil),
		yield:       m.importedFuncs(),
		counter:     uint32(len(m.globals)),
		refused:     uint32(len(m.globals)) + 1,
		types:       m.types,
		typeIndex:   map[string]uint32{},
		helperIndex: map[helperKey]uint32{},
		references:  references{first: uint32(len(m.globals)) + 2, globals: map[uint32]uint32{}},
		cloneable:   true,
		effort:      m.effort(),
	}
	w.addType(yieldType)
	return w
}

var yieldType = funcType{results: []valueType{typeI64}}

// addType returns the index of a type, after those of the original.
func (w *rewriter) addType(t funcType) uint32 {
	encoded := string(appendFuncType(nil, t))
	index, ok := w.typeIndex[encoded]
	if !ok {
		index = uint32(len(w.types))
		w.types = append(w.types[:len(w.types):len(w.types)], t)
		w.typeIndex[encoded] = index
	}
	return index
}

// shift maps an index of a function to the new module, where the import of
// yield is the last import.
func (w *rewriter) shift(fn uint32) uint32 {
	if fn >= w.yield {
		return fn + 1
	}
	return fn
}

// bodies rewrites all functions, each after its length.
func (w *rewriter) bodies() ([]byte, error) {
	out := make([]byte, 0, 2*len(w.code.buf))
	most := maxGrowth*len(w.code.buf) + minGrowth
	var body []byte
	for i := range w.code.ends {
		var err error
		if body, err = w.body(body[:0], i); err != nil {
			return nil, fmt.Errorf("function %s: %w", w.m.funcName(uint32(i)+w.m.importedFuncs()), err)
		}
		if out = wasm.AppendSized(out, body); len(out) > most || len(w.helpers) > maxHelpers {
			return nil, fmt.Errorf("%w: too many loops, or instructions for whole ranges, for so little code", ErrLimit)
		}
		if len(w.references.funcs) > maxReferred {
			return nil, fmt.Errorf("%w: code with references to more than %d functions", ErrLimit, maxReferred)
		}
	}
	return out, nil
}

// body rewrites the function with an index of the module itself.
func (w *rewriter) body(out []byte, index int) ([]byte, error) {
	body := w.code.body(index)
	r := &w.reader
	*r.Reader = wasm.Reader{Buf: body}
	locals := r.locals()
	start := r.Pos
	regions, s := w.tracer.measure(r)
	s.locals = locals + uint64(len(w.m.types[w.m.funcs[index]].params))
	if err := w.charge(s); err != nil {
		return nil, err
	}
	w.chooseLoops(regions, s)
	regions[0].cost += int(locals >> localsShift)
	for _, g := range regions {
		if g.cost > maxRegion {
			return nil, fmt.Errorf("%w: too long: straight code of cost %d; at most %d", ErrLimit, g.cost, maxRegion)
		}
	}
	out = append(out, body[:start]...)
	if regions[0].checked() {
		out = w.appendCheck(out, regions[0].cost)
	}
	r.Pos = start
	return w.instructions(out, r, regions[1:]), nil
}

// locals reads the declarations of locals and returns their number.
func (r *reader) locals() uint64 {
	var total uint64
	for n := r.Count(); n > 0; n-- {
		total += uint64(r.U32())
		r.valueType()
	}
	return total
}

// instructions rewrites the instructions of a function.
func (w *rewriter) instructions(out []byte, r *reader, loops []region) []byte {
	copied := r.Pos // out has everything before it
	for r.More() {
		at := r.Pos
		in := r.instruction()
		w.notice(in)
		switch {
		case in.op == opLoop && loops[0].loop.iterations > 1:
			out = w.unroll(append(out, r.Buf[copied:at]...), r, at, loops[0])
			loops = loops[1:]
		case in.op == opLoop:
			out = append(out, r.Buf[copied:r.Pos]...)
			out = w.appendCheck(out, loops[0].cost)
			loops = loops[1:]
		case w.tracer.dispatch.precedes(at):
			out = w.tracer.dispatch.appendFirst(append(out, r.Buf[copied:at]...))
			out = appendInstruction(out, in)
		case in.op == opBr && w.tracer.dispatch.redirect(in, at):
			out = appendInstruction(append(out, r.Buf[copied:at]...), in)
		case w.replaced(in):
			out = append(out, r.Buf[copied:at]...)
			out = w.appendReplaced(out, in)
		default:
			continue
		}
		copied = r.Pos
	}
	return append(out, r.Buf[copied:]...)
}

// replaced reports whether the instruction is replaced.
func (w *rewriter) replaced(in *instruction) bool {
	return in.op == opCall || in.op == opRefFunc || needsHelper(in)
}

// appendReplaced appends the replacement of the instruction.
func (w *rewriter) appendReplaced(out []byte, in *instruction) []byte {
	switch {
	case needsHelper(in):
		return wasm.AppendU32(append(out, opCall), w.helper(in))
	case in.op == opRefFunc:
		return w.appendReferred(out, in.a)
	}
	return wasm.AppendU32(append(out, in.op), w.shift(in.a))
}

// notice finds instructions that prevent clones, and those that need data segments.
func (w *rewriter) notice(in *instruction) {
	switch in.op {
	case opTableSet:
		w.cloneable = false
	case opPrefixBulk:
		w.usesData = w.usesData || in.sub == bulkMemoryInit || in.sub == bulkDataDrop
		w.grows = w.grows || in.sub == bulkTableGrow
		switch in.sub {
		case bulkDataDrop, bulkElemDrop, bulkTableInit, bulkTableCopy, bulkTableGrow, bulkTableFill:
			w.cloneable = false
		}
	}
}

// What the engine keeps for each instance, in bytes.
const (
	costReference = 8  // in a table, or in a passive segment
	costMade      = 40 // a reference that is made for a segment, or for a global
	costSegment   = 24 // of elements or data
	costGlobal    = 64
)

// overhead returns Prepared.Overhead, after all functions were rewritten.
func (w *rewriter) overhead() int {
	segments := len(w.m.elementTypes)
	if w.usesData {
		segments += len(w.m.data)
	}
	referred := len(w.references.funcs)
	size := costSegment*segments + costReference*int(w.m.passive) + costGlobal*(len(w.m.globals)+referred) + costMade*(int(w.m.made)+referred)
	for _, t := range w.m.tables {
		elements := t.min
		if w.grows {
			elements = t.atMost(w.m.maxElements()).max
		}
		size += costReference * int(elements)
	}
	return size
}

// appendCheck appends code that charges a cost, and yields if the budget is spent.
func (w *rewriter) appendCheck(out []byte, cost int) []byte {
	out = wasm.AppendU32(append(out, opGlobalGet), w.counter)
	out = wasm.AppendSigned(append(out, opI64Const), int64(cost+costCheck))
	out = append(out, opI64Sub)
	out = wasm.AppendU32(append(out, opGlobalSet), w.counter)
	return w.appendYield(out)
}

// appendYield appends code that calls yield and adds the result if the counter is negative.
func (w *rewriter) appendYield(out []byte) []byte {
	out = wasm.AppendU32(append(out, opGlobalGet), w.counter)
	out = append(out, opI64Const, 0, opI64LtS, opIf, typeEmpty)
	out = wasm.AppendU32(append(out, opCall), w.yield)
	out = wasm.AppendU32(append(out, opGlobalGet), w.counter)
	out = append(out, opI64Add)
	out = wasm.AppendU32(append(out, opGlobalSet), w.counter)
	return append(out, opEnd)
}

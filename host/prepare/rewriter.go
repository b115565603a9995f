package prepare

import "fmt"

// rewriter holds what the new module has beyond the original.
type rewriter struct {
	m       *module
	yield   uint32 // index of the imported function in the new module
	counter uint32 // index of the private global

	types     [][]byte // those of the original and new ones
	typeIndex map[string]uint32

	helpers     []helper
	helperIndex map[helperKey]uint32

	effort     uint64 // of compiling, so far
	unrolled   uint64 // beside it, what short loops add that are written several times
	locals     uint64 // of all functions, so far
	references int    // in element segments, so far
	usesData   bool   // an instruction refers to data segments
	cloneable  bool   // until an instruction is found that changes more than memory and globals
}

func newRewriter(m *module) *rewriter {
	w := &rewriter{
		m:           m,
		yield:       m.importedFuncs(),
		counter:     uint32(len(m.globals)),
		types:       m.types,
		typeIndex:   map[string]uint32{},
		helperIndex: map[helperKey]uint32{},
		cloneable:   true,
		effort:      m.effort(),
	}
	w.addType(yieldType)
	return w
}

var yieldType = funcType{results: []byte{typeI64}}

// addType returns the index of a type, after those of the original.
func (w *rewriter) addType(t funcType) uint32 {
	encoded := t.encode()
	index, ok := w.typeIndex[string(encoded)]
	if !ok {
		index = uint32(len(w.types))
		w.types = append(w.types[:len(w.types):len(w.types)], encoded)
		w.typeIndex[string(encoded)] = index
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

// bodies rewrites all functions, each with its length before it.
func (w *rewriter) bodies() ([]byte, error) {
	size := 0
	for _, b := range w.m.bodies {
		size += len(b)
	}
	out := make([]byte, 0, size+size/2)
	var body []byte
	for i, b := range w.m.bodies {
		var err error
		if body, err = w.body(body[:0], i, b); err != nil {
			return nil, fmt.Errorf("function %s: %w", w.m.funcName(uint32(i)+w.m.importedFuncs()), err)
		}
		out = appendSized(out, body)
	}
	return out, nil
}

// body rewrites the own function of an index.
func (w *rewriter) body(out []byte, index int, body []byte) ([]byte, error) {
	r := &reader{buf: body}
	locals := r.locals()
	if r.err == nil && locals > maxLocals {
		return nil, fmt.Errorf("%w: %d locals; at most %d", ErrLimit, locals, maxLocals)
	}
	start := r.pos
	regions, s := measure(r)
	if r.err != nil {
		return nil, r.err
	}
	s.locals = locals + uint64(len(decodeType(w.m.types[w.m.funcs[index]]).params))
	if err := w.charge(s); err != nil {
		return nil, err
	}
	w.chooseTurns(regions, s)
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
	return w.code(out, &reader{buf: body, pos: start}, regions[1:])
}

// locals reads the declarations of locals and returns their number.
func (r *reader) locals() uint64 {
	var total uint64
	for n := r.count(); n > 0 && r.err == nil; n-- {
		total += uint64(r.u32())
		r.byte()
	}
	return total
}

// code rewrites the instructions of a function.
func (w *rewriter) code(out []byte, r *reader, loops []region) ([]byte, error) {
	copied := r.pos // everything before it is in out
	for r.more() {
		at := r.pos
		in := r.instruction()
		if r.err != nil {
			return nil, r.err
		}
		if err := w.indices(in); err != nil {
			return nil, err
		}
		switch {
		case in.op == opLoop && loops[0].loop.turns > 1:
			var err error
			if out, err = w.unroll(append(out, r.buf[copied:at]...), r, at, loops[0]); err != nil {
				return nil, err
			}
			loops = loops[1:]
		case in.op == opLoop:
			out = append(out, r.buf[copied:r.pos]...)
			out = w.appendCheck(out, loops[0].cost)
			loops = loops[1:]
		case w.replaced(in):
			out = append(out, r.buf[copied:at]...)
			out = w.appendReplaced(out, in)
		default:
			continue
		}
		copied = r.pos
	}
	return append(out, r.buf[copied:]...), nil
}

// replaced tells instructions that other ones stand for.
func (w *rewriter) replaced(in instruction) bool {
	return in.op == opCall || in.op == opRefFunc || needsHelper(in)
}

// appendReplaced appends what stands for the instruction.
func (w *rewriter) appendReplaced(out []byte, in instruction) []byte {
	if needsHelper(in) {
		return appendU32(append(out, opCall), w.helper(in))
	}
	return appendU32(append(out, in.op), w.shift(in.a))
}

// indices checks those indices that a rewritten module has more of, so that an
// invalid original cannot become a valid one that reaches what is private. It also
// finds the instructions that a clone could not follow.
func (w *rewriter) indices(in instruction) error {
	switch in.op {
	case opCall, opRefFunc:
		if in.a >= w.m.funcCount() {
			return fmt.Errorf("%w: unknown function %d", ErrMalformed, in.a)
		}
	case opGlobalGet, opGlobalSet:
		if uint64(in.a) >= uint64(len(w.m.globals)) {
			return fmt.Errorf("%w: unknown global %d", ErrMalformed, in.a)
		}
	case opCallIndirect:
		return w.knownType(int64(in.a))
	case opBlock, opLoop, opIf:
		return w.knownType(in.blockType)
	case opTableSet:
		w.cloneable = false
	case opPrefixBulk:
		w.usesData = w.usesData || in.sub == bulkMemoryInit || in.sub == bulkDataDrop
		switch in.sub {
		case bulkDataDrop, bulkElemDrop, bulkTableInit, bulkTableCopy, bulkTableGrow, bulkTableFill:
			w.cloneable = false
		}
	}
	return nil
}

func (w *rewriter) knownType(index int64) error {
	if index >= int64(len(w.m.types)) {
		return fmt.Errorf("%w: unknown type %d", ErrMalformed, index)
	}
	return nil
}

// appendCheck appends: charge so much, and yield if the budget is spent.
func (w *rewriter) appendCheck(out []byte, cost int) []byte {
	out = appendU32(append(out, opGlobalGet), w.counter)
	out = appendSigned(append(out, opI64Const), int64(cost+costCheck))
	out = append(out, opI64Sub)
	out = appendU32(append(out, opGlobalSet), w.counter)
	return w.appendYield(out)
}

// appendYield appends: if the counter is negative, call yield and add what it gives.
func (w *rewriter) appendYield(out []byte) []byte {
	out = appendU32(append(out, opGlobalGet), w.counter)
	out = append(out, opI64Const, 0, opI64LtS, opIf, typeEmpty)
	out = appendU32(append(out, opCall), w.yield)
	out = appendU32(append(out, opGlobalGet), w.counter)
	out = append(out, opI64Add)
	out = appendU32(append(out, opGlobalSet), w.counter)
	return append(out, opEnd)
}

package prepare

import "fmt"

// funcType reads a function type and returns its encoding.
func (r *reader) funcType() []byte {
	start := r.pos
	if form := r.byte(); form != 0x60 {
		r.feature("garbage collection (type form %#x)", form)
	}
	r.bytes(r.u32())
	r.bytes(r.u32())
	return r.since(start)
}

// limits reads the bounds of a table or of a memory.
func (r *reader) limits() (min uint32, max *uint32) {
	switch flags := r.byte(); {
	case flags > 7:
		r.fail("limits with flags %#x", flags)
	case flags&2 != 0:
		r.feature("threads (a shared memory)")
	case flags&4 != 0:
		r.feature("memory64")
	case flags == 1:
		min = r.u32()
		value := r.u32()
		return min, &value
	}
	return r.u32(), nil
}

func (r *reader) importItem() Import {
	i := Import{Module: r.name(), Name: r.name(), kind: r.byte()}
	switch i.kind {
	case kindFunc:
		i.index = r.u32()
	case kindTable:
		r.byte()
		r.limits()
	case kindMemory:
		r.limits()
	case kindGlobal:
		r.byte()
		r.byte()
	default:
		r.fail("import of kind %#x", i.kind)
	}
	return i
}

func (r *reader) globalItem() global {
	g := global{valType: r.byte(), mutable: r.byte() == 1}
	g.init = r.constExpr()
	return g
}

func (r *reader) dataItem() dataSegment {
	var d dataSegment
	switch flags := r.u32(); flags {
	case 0:
		d.offset = r.constExpr()
	case 1:
		d.passive = true
	case 2:
		if r.u32() != 0 {
			r.feature("multi-memory")
		}
		d.offset = r.constExpr()
	default:
		r.fail("data segment with flags %#x", flags)
	}
	d.bytes = r.bytes(r.u32())
	return d
}

// constExpr reads an expression of constant instructions and returns its
// encoding. Which instructions are constant is left to the engine.
func (r *reader) constExpr() []byte {
	start := r.pos
	for r.err == nil {
		if in := r.instruction(); in.op == opEnd {
			break
		}
	}
	return r.since(start)
}

// constI32 is the value of an expression of one i32.const.
func constI32(expr []byte) (uint32, error) {
	r := &reader{buf: expr}
	if r.byte() != opI32Const {
		return 0, fmt.Errorf("%w: an offset that is not i32.const", ErrFeature)
	}
	value := uint32(r.signed(32))
	if r.byte() != opEnd {
		return 0, fmt.Errorf("%w: extended constant expressions", ErrFeature)
	}
	return value, r.err
}

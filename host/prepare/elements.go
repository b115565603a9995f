package prepare

import "fmt"

// elements rewrites the element segments: the functions in them get their new indices.
//
// See https://www.w3.org/TR/wasm-core-2/#element-section%E2%91%A0
func (w *rewriter) elements() ([]byte, error) {
	r := &reader{buf: w.m.elements}
	out := make([]byte, 0, len(r.buf)+len(r.buf)/8)
	for n := w.m.elementsN; n > 0 && r.err == nil; n-- {
		var err error
		if out, err = w.element(out, r); err != nil {
			return nil, err
		}
		if w.references > maxReferences {
			return nil, fmt.Errorf("%w: more than %d references in element segments", ErrLimit, maxReferences)
		}
	}
	if r.err == nil && r.pos != len(r.buf) {
		r.fail("bytes left in the element section")
	}
	return out, r.err
}

// element rewrites one segment.
func (w *rewriter) element(out []byte, r *reader) ([]byte, error) {
	start := r.pos
	flags := r.u32()
	if flags > 7 {
		r.fail("element segment with flags %#x", flags)
	}
	passive, explicit, expressions := flags&1 != 0, flags&2 != 0, flags&4 != 0
	if !passive {
		if explicit {
			r.u32() // table
		}
		r.constExpr()
	}
	if passive || explicit {
		r.byte() // kind or type of the elements
	}
	out = append(out, r.since(start)...)
	count := r.count()
	w.references += int(count) + 1 // an empty segment takes something, too
	out = appendU32(out, count)
	for ; count > 0 && r.err == nil; count-- {
		if !expressions {
			fn := r.u32()
			if err := w.knownFunction(fn); err != nil {
				return nil, err
			}
			out = appendU32(out, w.shift(fn))
			continue
		}
		init, err := w.expression(r.constExpr())
		if err != nil {
			return nil, err
		}
		out = append(out, init...)
	}
	return out, nil
}

// expression rewrites a constant expression: only ref.func changes.
func (w *rewriter) expression(expr []byte) ([]byte, error) {
	var out []byte
	r := &reader{buf: expr}
	for r.more() {
		at := r.pos
		in := r.instruction()
		if err := w.indices(in); err != nil {
			return nil, err
		}
		if in.op == opRefFunc {
			out = appendU32(append(out, opRefFunc), w.shift(in.a))
			continue
		}
		out = append(out, r.since(at)...)
	}
	return out, r.err
}

func (w *rewriter) knownFunction(fn uint32) error {
	if fn >= w.m.funcCount() {
		return fmt.Errorf("%w: unknown function %d", ErrMalformed, fn)
	}
	return nil
}

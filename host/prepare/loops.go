package prepare

import "github.com/kopf-wasm/kopf/host/internal/wasm"

// A short loop costs little more than its check. Therefore, the code of such a loop is
// written several times, with one check for all copies:
//
//	block               ;; to leave the loop
//	  loop
//	    check for all iterations
//	    block           ;; its end is the beginning of the next iteration
//	      the code
//	      br 2
//	    end
//	    …
//	    the code        ;; the last iteration
//	  end
//	end
//
// Branches to the loop, which begin the next iteration, lead to the end of the block, except in the
// last iteration. A loop that ends early has been charged for more iterations than it has made.

// Bounds of loops that are written several times.
const (
	iterationsOfLoop = 4   // copies of the code
	shortLoop        = 48  // the cost of one iteration
	shortCode        = 256 // the bytes of its code
)

// inner describes a loop.
type inner struct {
	begin, end int   // positions of the beginning of its code and of its end instruction
	shape      shape // of its code
	loops      bool  // it contains loops
	params     bool  // the stack may have operands at its beginning
	iterations int   // per check
}

// locate records where loops begin and end.
func (t *tracer) locate(in *instruction, at, next int) {
	switch {
	case in.op == opLoop:
		if n := len(t.loops); n > 0 {
			t.regions[t.frames[t.loops[n-1]].region].loop.loops = true
		}
		t.opened = inner{begin: next, shape: t.shape, params: in.blockType >= 0, iterations: 1}
	case in.op == opEnd && t.top().op == opLoop:
		loop := &t.regions[t.region()].loop
		loop.end, loop.shape = at, t.shape.minus(loop.shape)
	}
}

// chooseLoops finds the loops that are written several times, as long as compiling them
// takes little.
func (w *rewriter) chooseLoops(regions []region, s shape) {
	longer, code := s, 0
	for _, g := range regions[1:] {
		if g.isShort() {
			longer = longer.plus(g.loop.shape, iterationsOfLoop-1).plus(shape{blocks: 1}, iterationsOfLoop)
			code += (iterationsOfLoop - 1) * (g.loop.end - g.loop.begin)
		}
	}
	more := longer.effort() - s.effort() + uint64(code)*effortByte
	if w.unrolled+more > maxUnrolled {
		return
	}
	w.unrolled += more
	for i := range regions[1:] {
		if g := &regions[1+i]; g.isShort() {
			g.loop.iterations = iterationsOfLoop
		}
	}
}

// isShort reports whether the region is a loop whose check costs much of an iteration.
func (g region) isShort() bool {
	return !g.loop.loops && !g.loop.params && g.cost <= shortLoop && g.loop.end-g.loop.begin <= shortCode
}

// unroll writes a loop of several iterations. The reader stands after its beginning, which is
// at the position; then after its end.
func (w *rewriter) unroll(out []byte, r *reader, at int, g region) []byte {
	begin := r.Buf[at:r.Pos]
	out = append(append(out, opBlock), begin[1:]...)
	out = w.appendCheck(append(out, begin...), g.cost*g.loop.iterations)
	for left := g.loop.iterations - 1; left >= 0; left-- {
		*w.iterations.Reader = wasm.Reader{Buf: r.Buf[:g.loop.end], Pos: g.loop.begin}
		if left == 0 {
			out = w.iteration(out, &w.iterations, 0)
			continue
		}
		out = w.iteration(append(out, opBlock, typeEmpty), &w.iterations, 1)
		out = append(out, opBr, 2, opEnd)
	}
	r.Pos = g.loop.end + 1
	return append(out, opEnd, opEnd)
}

// iteration rewrites the code of a loop without inner loops, at the given depth below the block around all iterations.
func (w *rewriter) iteration(out []byte, r *reader, deeper uint32) []byte {
	depth := uint32(0)
	label := func(to uint32) uint32 {
		if to > depth { // out of the loop
			return to + 1 + deeper
		}
		return to
	}
	for r.More() {
		at := r.Pos
		in := r.instruction()
		w.notice(in)
		if in.op == opBr {
			w.tracer.dispatch.redirect(in, at)
		}
		switch {
		case in.op == opBr || in.op == opBrIf:
			in.a = label(in.a)
		case in.op == opBrTable:
			for i, to := range in.labels {
				in.labels[i] = label(to)
			}
		case w.replaced(in):
			out = w.appendReplaced(out, in)
			continue
		case in.op == opBlock || in.op == opIf:
			depth++
		case in.op == opEnd:
			depth--
		}
		out = appendInstruction(out, in)
	}
	return out
}

package prepare

import "slices"

// region is the code after one check: that of a function without its loops, or
// of one iteration of a loop without inner loops. All backward branches lead to a loop header,
// so each instruction in it runs at most once, and its cost is that of the longest path.
type region struct {
	cost int

	loop inner // zero for the first region

	// Of the whole function; only in the first region:
	calls bool
	loops bool // every call enters a loop first
}

// checked reports whether the function needs a check at its entry. The check of a loop that it
// always enters first suffices: most functions of Go's compiler are such a loop.
func (g region) checked() bool { return g.cost > smallFunction || g.calls && !g.loops }

// unreachable stands for the cost of a missing path.
const unreachable = -1

// frame is an open block.
type frame struct {
	op     byte // opBlock, opLoop, opIf, opElse; 0: the function
	region int  // the region of the block; of a loop: its own
	arrive int  // the highest cost of a path that branches to its end
	before int  // of opIf: the cost of the path to it; of opLoop: the same, in the outer region
}

// tracer follows the paths through a function. Costs of paths are relative to
// the beginning of the region they are in.
type tracer struct {
	regions []region
	frames  []frame
	loops   []int // the positions of the loops among the frames
	path    int   // the cost of the longest path to the current instruction
	turned  bool  // the code before is not straight
	shape   shape // so far, without the locals
	opened  inner // the latest opened loop

	dispatch dispatch
}

// measure finds the regions of a function: first its own, then those of its
// loops in order of appearance; and its shape, without the locals. The reader stands after the locals, in
// canonical code, which has no faults.
func measure(r *reader) ([]region, shape) { return (&tracer{}).measure(r) }

// measure reuses the memory of the tracer: earlier results are no longer valid.
func (t *tracer) measure(r *reader) ([]region, shape) {
	*t = tracer{
		regions: append(t.regions[:0], region{}), loops: t.loops[:0],
		frames: append(t.frames[:0], frame{arrive: unreachable}), dispatch: t.dispatch,
	}
	t.dispatch.reset()
	for len(t.frames) > 0 && r.More() {
		at := r.Pos
		in := r.instruction()
		t.path += t.dispatch.follow(in, at, t.path < longPath) // what is added can be reached: it is at the beginning of a loop
		t.shape.add(in)
		t.locate(in, at, r.Pos)
		t.step(in)
	}
	return t.regions, t.shape
}

// step follows one instruction.
func (t *tracer) step(in *instruction) {
	if t.path != unreachable {
		t.path += cost(in)
	}
	switch in.op {
	case opLoop, opIf, opBr, opBrIf, opBrTable, opReturn, opUnreachable, opCall, opCallIndirect:
		t.regions[0].loops = t.regions[0].loops || in.op == opLoop && !t.turned
		t.turned = true
	}
	switch in.op {
	case opBlock, opIf:
		t.frames = append(t.frames, frame{op: in.op, region: t.region(), arrive: unreachable, before: t.path})
	case opLoop:
		t.enterLoop()
	case opElse:
		t.otherwise()
	case opEnd:
		t.end()
	case opBr:
		t.branch(in.a)
		t.stop()
	case opBrIf:
		t.branch(in.a)
	case opBrTable:
		for _, label := range in.labels {
			t.branch(label)
		}
		t.stop()
	case opReturn, opUnreachable:
		t.stop()
	case opCall, opCallIndirect:
		t.regions[0].calls = true
	}
}

func (t *tracer) top() *frame { return &t.frames[len(t.frames)-1] }

// region returns the region of the current instruction.
func (t *tracer) region() int { return t.top().region }

// reach records that a path of the current region reaches the current instruction.
func (t *tracer) reach() {
	r := &t.regions[t.region()]
	r.cost = max(r.cost, t.path)
}

// stop ends the path.
func (t *tracer) stop() {
	t.reach()
	t.path = unreachable
}

func (t *tracer) enterLoop() {
	t.reach()
	t.loops = append(t.loops, len(t.frames))
	t.frames = append(t.frames, frame{op: opLoop, region: len(t.regions), arrive: unreachable, before: t.path})
	t.regions = append(t.regions, region{loop: t.opened})
	t.path = 0
}

// branch joins the path to the end of a block, or ends it at the header of a loop.
func (t *tracer) branch(label uint32) {
	t.reach()
	at := len(t.frames) - 1 - int(label)
	if t.path == unreachable {
		return // dead
	}
	path := t.path
	if i, _ := slices.BinarySearch(t.loops, at+1); i < len(t.loops) {
		path = t.frames[t.loops[i]].before // it leaves loops: back to the region of the target
	}
	if f := &t.frames[at]; f.op != opLoop {
		f.arrive = max(f.arrive, path)
	}
}

func (t *tracer) otherwise() {
	f := t.top()
	if f.op == opIf {
		f.op = opElse
		f.arrive = max(f.arrive, t.path)
		t.path = f.before
	}
}

// end closes a block.
func (t *tracer) end() {
	t.reach()
	f := *t.top()
	switch f.op {
	case opLoop:
		t.loops = t.loops[:len(t.loops)-1]
		if t.path != unreachable {
			t.path = f.before
		}
	case opIf: // without an else
		t.path = max(t.path, f.arrive, f.before)
	default:
		t.path = max(t.path, f.arrive)
	}
	if len(t.frames) == 1 {
		t.reach()
	}
	t.frames = t.frames[:len(t.frames)-1]
}

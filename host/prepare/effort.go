package prepare

import "fmt"

// Compiling is an attack surface: the engine's compiler takes time in the square
// of the blocks of a function, and memory in their product with its locals. Therefore the
// effort is estimated beforehand. The figures are nanoseconds, measured with wazero
// 1.12; a Go guest of 3.5 MB is at 0.7 s, and no output of a compiler came near the limits.
const (
	effortBlock = 26        // each pair of blocks of one function
	effortLocal = 900       // each block for each local variable
	effortLabel = 9_000     // each label of a br_table
	effortEach  = 130       // each local variable by itself
	effortByte  = 500       // each byte of code, where the rewriter adds it
	effortType  = 6         // each pair of a type and a function of the module
	maxEffort   = 10e9      // of a module
	maxUnrolled = 1e9       // that the rewriter may add for speed
	maxProduct  = 3_000_000 // blocks times locals of one function: up to 700 MB
	maxTotal    = 4_000_000 // locals of all functions, which a few bytes declare: 100 MB before the compilation
)

// shape holds the properties of a function on which the effort of its compilation depends.
type shape struct {
	locals uint64 // parameters included
	blocks uint64
	labels uint64 // in br_table
}

func (s shape) effort() uint64 {
	return s.blocks*s.blocks*effortBlock + s.blocks*s.locals*effortLocal + s.locals*effortEach + s.labels*effortLabel
}

// effort returns the effort for the module as a whole.
func (m *module) effort() uint64 {
	return uint64(len(m.types)) * uint64(len(m.funcs)) * effortType
}

// add counts an instruction.
func (s *shape) add(in *instruction) {
	switch in.op {
	case opBlock, opLoop, opIf:
		s.blocks++
	case opBrTable:
		s.labels += uint64(len(in.labels))
	}
}

// plus returns the sum of the shape and n times another one.
func (s shape) plus(other shape, times uint64) shape {
	s.blocks += times * other.blocks
	s.labels += times * other.labels
	return s
}

// minus returns the difference of the shape and an earlier one.
func (s shape) minus(other shape) shape {
	return shape{blocks: s.blocks - other.blocks, labels: s.labels - other.labels}
}

// charge adds the effort for a function to the effort for the module.
func (w *rewriter) charge(s shape) error {
	if s.blocks*s.locals > maxProduct {
		return fmt.Errorf("%w: too complex: %d blocks with %d local variables", ErrLimit, s.blocks, s.locals)
	}
	if w.locals += s.locals; w.locals > maxTotal {
		return fmt.Errorf("%w: too complex: more than %d local variables in all functions", ErrLimit, maxTotal)
	}
	if w.effort += s.effort(); w.effort > maxEffort {
		return fmt.Errorf("%w: too complex to be compiled (%d blocks here)", ErrLimit, s.blocks)
	}
	return nil
}

package prepare

import (
	"errors"
	"fmt"
)

// ErrLimit says that a module exceeds a limit.
var ErrLimit = errors.New("over a limit")

// Static limits. The output of compilers stays far below. They keep parsing, the engine's compiler and the instances
// small.
const (
	maxModule     = 1 << 30 // bytes
	maxTypes      = 10_000
	maxParams     = 256 // of one type, and as many results
	maxImports    = 1_000
	maxTables     = 8
	maxElements   = 1 << 20 // of all tables
	maxReferences = 1 << 18 // in all element segments: each takes 40 bytes in each instance
	maxReferred   = 10_000  // functions that ref.func names in code
	maxGlobals    = 10_000
	maxExports    = 20_000
	maxExportable = 1_000   // globals of a module that can be cloned
	maxData       = 100_000 // data segments: the maximum of Go's linker
	maxSegments   = 1 << 16 // of data, if instructions use them
	maxLocals     = 50_000  // of one function
	maxLabels     = 65_520  // of one br_table, as in browsers
	maxHelpers    = 10_000
	maxGrowth     = 3       // factor by which code may grow, in addition to minGrowth
	minGrowth     = 1 << 20 // bytes
)

// check refuses a module that the rewriter cannot bound. It does not look at code.
func (m *module) check(limits Limits) error {
	for _, e := range m.exports {
		if isReserved(e.Name) {
			return fmt.Errorf("%w: reserved name of an export: %s", ErrFeature, shown(e.Name))
		}
	}
	if m.effort() > maxEffort {
		return fmt.Errorf("%w: too complex to be compiled: %d functions and %d types", ErrLimit, len(m.funcs), len(m.types))
	}
	if err := m.checkTables(); err != nil {
		return err
	}
	return m.checkMemory(limits)
}

func (m *module) checkTables() error {
	for i, t := range m.tables {
		if most := m.maxElements(); t.min > most {
			return fmt.Errorf("%w: table %d has %d elements; at most %d", ErrLimit, i, t.min, most)
		}
	}
	return nil
}

// maxElements is the maximum number of elements of a table. All tables share the limit.
func (m *module) maxElements() uint32 { return maxElements / uint32(max(1, len(m.tables))) }

func (m *module) checkMemory(limits Limits) error {
	if len(m.memories) == 0 {
		return fmt.Errorf("%w: no memory", ErrMalformed)
	}
	if min := m.memories[0].min; min > limits.MemoryPages {
		return fmt.Errorf("%w: the memory begins with %d pages of 64 KiB; at most %d", ErrLimit, min, limits.MemoryPages)
	}
	return nil
}

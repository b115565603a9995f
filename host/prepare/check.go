package prepare

import (
	"errors"
	"fmt"
)

// ErrLimit is in the errors about modules that ask for too much.
var ErrLimit = errors.New("over a limit")

// check refuses what the rewriter cannot bound, before any code is looked at.
func (m *module) check(limits Limits) error {
	for _, i := range m.imports {
		if i.kind != kindFunc {
			return fmt.Errorf("%w: import of a %s: %s.%s", ErrFeature, kindNames[i.kind], i.Module, i.Name)
		}
	}
	for _, e := range m.exports {
		if isReserved(e.Name) {
			return fmt.Errorf("%w: reserved name of an export: %s", ErrFeature, e.Name)
		}
	}
	if err := m.checkCounts(); err != nil {
		return err
	}
	if err := m.checkTypes(); err != nil {
		return err
	}
	if err := m.checkTables(); err != nil {
		return err
	}
	return m.checkMemory(limits)
}

// checkCounts bounds what an instance takes of the host beside its memory.
func (m *module) checkCounts() error {
	for _, c := range []struct {
		what       string
		count, max int
	}{{"globals", len(m.globals), maxGlobals}, {"imports", len(m.imports), maxImports}} {
		if c.count > c.max {
			return fmt.Errorf("%w: %d %s; at most %d", ErrLimit, c.count, c.what, c.max)
		}
	}
	return nil
}

func (m *module) checkTypes() error {
	if m.effort() > maxEffort {
		return fmt.Errorf("%w: too complex to be compiled: %d functions and %d types", ErrLimit, len(m.funcs), len(m.types))
	}
	for i, encoded := range m.types {
		t := decodeType(encoded)
		if len(t.params) > maxParams || len(t.results) > maxParams {
			return fmt.Errorf("%w: type %d has more than %d parameters or results", ErrLimit, i, maxParams)
		}
	}
	for i, t := range m.funcs {
		if uint64(t) >= uint64(len(m.types)) {
			return fmt.Errorf("%w: function %d has an unknown type", ErrMalformed, i)
		}
	}
	for _, i := range m.imports {
		if uint64(i.index) >= uint64(len(m.types)) {
			return fmt.Errorf("%w: import %s.%s has an unknown type", ErrMalformed, i.Module, i.Name)
		}
	}
	return nil
}

func (m *module) checkTables() error {
	if len(m.tables) > maxTables {
		return fmt.Errorf("%w: %d tables; at most %d", ErrLimit, len(m.tables), maxTables)
	}
	for i, t := range m.tables {
		if most := m.maxElements(); t.min > most {
			return fmt.Errorf("%w: table %d has %d elements; at most %d", ErrLimit, i, t.min, most)
		}
	}
	return nil
}

// maxElements is what a table may have: all of them share the limit.
func (m *module) maxElements() uint32 { return maxElements / uint32(max(1, len(m.tables))) }

func (m *module) checkMemory(limits Limits) error {
	switch len(m.memories) {
	case 0:
		return fmt.Errorf("%w: no memory", ErrMalformed)
	case 1:
	default:
		return fmt.Errorf("%w: multi-memory", ErrFeature)
	}
	if min := m.memories[0].min; min > limits.MemoryPages {
		return fmt.Errorf("%w: the memory begins with %d pages of 64 KiB; at most %d", ErrLimit, min, limits.MemoryPages)
	}
	return nil
}

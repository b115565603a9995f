package prepare

import (
	"fmt"
	"slices"
)

// Names that the rewritten module has and the original must not have.
const (
	// HostModule and Yield name the function that the rewritten module imports: () -> i64, a new budget.
	HostModule = "kopf:host"
	Yield      = "yield"

	// Start is the export of the start function, if the module has one.
	Start = "kopf:start"

	// Enter is the export that calls one of Source.Entries, by its number and up to three i32:
	// (i32, i32, i32, i32) -> i64. Missing results are zero.
	Enter = "kopf:enter"

	// Refused is the exported mutable global with the pages of 64 KiB that the last memory.grow asked
	// for in vain, as an i32: 0 if it was successful, or if there was none.
	Refused = "kopf:refused"

	// GlobalPrefix and a number name the exported mutable globals.
	GlobalPrefix = "kopf:global:"

	reserved = "kopf:"
)

// Limits bound the resources that a module may declare.
type Limits struct {
	MemoryPages uint32 // of 64 KiB; also the maximum after growth
}

// Prepared is a rewritten module.
type Prepared struct {
	Wasm  []byte // the rewritten module; nil if it was restored
	Shell []byte // the module without its code, for engines that have its machine code

	// Canonical is the original, decoded and encoded again, to be validated by the engine; nil if it was restored.
	Canonical []byte

	// Data are the active data segments, to be written into a fresh memory.
	Data []Data

	// Globals is the number of exported mutable globals: GlobalPrefix and 0 … Globals-1.
	Globals int

	// Cloneable reports whether memory and these globals are the whole state of an
	// instance: tables and passive segments never change.
	Cloneable bool

	// MinPages is the size of a fresh memory.
	MinPages uint32

	// Overhead is how many bytes an engine keeps for each instance besides its memory, at most: tables as large as they can grow, and the
	// like.
	Overhead int
}

// Data is an active data segment. Its bytes belong to the original module.
type Data struct {
	Offset uint32
	Bytes  []byte
}

// Prepare rewrites the module.
//
// # Guarantees
//
//   - Between two calls of yield, or of other host functions, at most code of cost Budget
//     runs, and maxRegion more in a long straight piece.
//   - A valid module stays valid and keeps its behaviour, except that long bulk instructions
//     may write a part before they trap.
//   - The guest cannot access the counter.
//
// # Assumptions
//
//   - The module is valid. The result of an invalid module may be valid.
//
// # Errors
//
// ErrMalformed, ErrFeature, ErrLimit.
func (s *Source) Prepare(limits Limits) (*Prepared, error) {
	d, err := s.Decode(limits)
	if err != nil {
		return nil, err
	}
	return d.Prepare()
}

// Decoded is a decoded module, with its code.
type Decoded struct {
	// Canonical is the module, encoded again, to be validated by the engine. Prepare does not need it.
	Canonical []byte

	source *Source
	code   *canonicalCode
	limits Limits
	begun  *Prepared
}

// Decode does the first part of Prepare, and Decoded.Prepare the second one. The errors are those of
// Prepare.
func (s *Source) Decode(limits Limits) (*Decoded, error) {
	p, err := s.begin(limits)
	if err != nil {
		return nil, err
	}
	code, err := s.canonicalCode()
	if err != nil {
		return nil, err
	}
	p.Canonical = s.m.appendCanonical(make([]byte, 0, len(s.bin)), code)
	return &Decoded{p.Canonical, s, code, limits, p}, nil
}

// Prepare rewrites the module, once: see Source.Prepare.
func (d *Decoded) Prepare() (*Prepared, error) {
	s, p := d.source, d.begun
	w := newRewriter(s.m, d.code)
	bodies, err := w.bodies()
	if err != nil {
		return nil, err
	}
	globals := s.m.exportable()
	p.Cloneable = w.cloneable && len(globals) <= maxExportable && !s.m.otherGlobals()
	if !p.Cloneable {
		globals = nil
	}
	p.Globals, p.Overhead = len(globals), w.overhead()
	if p.Wasm, err = w.assemble(bodies, globals, d.limits); err != nil {
		return nil, err
	}
	p.Shell, err = Shell(p.Wasm)
	return p, err
}

// begin checks the module against the limits, and collects everything that does not depend on its code.
func (s *Source) begin(limits Limits) (*Prepared, error) {
	if err := s.m.check(limits); err != nil {
		return nil, err
	}
	data, err := s.m.activeData()
	if err != nil {
		return nil, err
	}
	return &Prepared{Data: data, MinPages: s.m.memories[0].min}, nil
}

// activeData lists the active data segments.
func (m *module) activeData() ([]Data, error) {
	all := make([]Data, 0, len(m.data))
	for i, d := range m.data {
		if d.passive {
			continue
		}
		if uint64(d.offset)+uint64(len(d.bytes)) > uint64(m.memories[0].min)<<16 {
			return nil, fmt.Errorf("%w: data segment %d lies outside of the memory", ErrLimit, i)
		}
		all = append(all, Data{d.offset, d.bytes})
	}
	return all, nil
}

// exportable lists the indices of the mutable globals that hold numbers.
func (m *module) exportable() []uint32 {
	var indices []uint32
	for i, g := range m.globals {
		if g.mutable && g.valType.number() {
			indices = append(indices, uint32(i))
		}
	}
	return indices
}

// otherGlobals reports whether the module has mutable globals that are not numbers.
func (m *module) otherGlobals() bool {
	return slices.ContainsFunc(m.globals, func(g global) bool { return g.mutable && !g.valType.number() })
}

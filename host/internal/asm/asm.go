// Package asm writes small WebAssembly modules for tests, by hand and without a
// toolchain: also broken and hostile ones, so it checks nothing.
package asm

import "encoding/binary"

// Value types.
const (
	I32       byte = 0x7f
	I64       byte = 0x7e
	F32       byte = 0x7d
	F64       byte = 0x7c
	V128      byte = 0x7b
	FuncRef   byte = 0x70
	ExternRef byte = 0x6f
)

// Module is a module. Functions are numbered imports first. Types are numbered
// by their first appearance, in imports and functions.
type Module struct {
	Imports   []Import
	Funcs     []Func
	Tables    [][]byte // encoded table types
	Memory    []uint32 // minimum and, if it has two elements, maximum; nil: none
	Globals   [][]byte // encoded type and expression
	Elements  [][]byte // encoded segments
	Data      []Data
	Passive   [][]byte // passive data segments, after the active ones
	DataCount bool
	Exports   [][]byte // encoded, besides those of Funcs and of the memory
	Start     int      // index of the start function; 0: none
	Names     []byte   // contents of the name section
	Raw       []byte   // appended unchanged
}

// Import is an imported function.
type Import struct {
	Module, Name    string
	Params, Results []byte
}

// Func is a function.
type Func struct {
	Export          string // empty: none
	Params, Results []byte
	Locals          []byte // types of locals, one each
	Code            []byte // without the end
	Raw             []byte // the whole body, in place of Locals and Code
}

// Data is an active data segment.
type Data struct {
	Offset int32
	Bytes  string
}

// Encode writes the module.
func (m Module) Encode() []byte {
	types, imports, funcs := m.signatures()
	exports, bodies := m.functions()
	var memory [][]byte
	if m.Memory != nil {
		memory = [][]byte{limits(m.Memory)}
		exports = append(exports, Cat(Name("memory"), []byte{2, 0}))
	}
	out := []byte("\x00asm\x01\x00\x00\x00")
	section := func(id byte, items [][]byte) {
		if len(items) > 0 {
			out = append(out, Section(id, Vector(items))...)
		}
	}
	section(1, types)
	section(2, imports)
	section(3, funcs)
	section(4, m.Tables)
	section(5, memory)
	section(6, m.Globals)
	section(7, append(exports, m.Exports...))
	if m.Start > 0 {
		out = append(out, Section(8, U32(uint32(m.Start)))...)
	}
	section(9, m.Elements)
	if m.DataCount {
		out = append(out, Section(12, U32(uint32(len(m.Data)+len(m.Passive))))...)
	}
	section(10, bodies)
	section(11, m.data())
	if m.Names != nil {
		out = append(out, Section(0, Cat(Name("name"), m.Names))...)
	}
	return append(out, m.Raw...)
}

// signatures returns the types, the imports, and the types of the functions.
func (m Module) signatures() (types, imports, funcs [][]byte) {
	known := map[string]uint32{}
	typeOf := func(params, results []byte) []byte {
		t := Type(params, results)
		index, ok := known[string(t)]
		if !ok {
			index = uint32(len(types))
			known[string(t)] = index
			types = append(types, t)
		}
		return U32(index)
	}
	for _, in := range m.Imports {
		imports = append(imports, Cat(Name(in.Module), Name(in.Name), []byte{0}, typeOf(in.Params, in.Results)))
	}
	for _, f := range m.Funcs {
		funcs = append(funcs, typeOf(f.Params, f.Results))
	}
	return types, imports, funcs
}

// functions returns the exports of the functions, and their bodies.
func (m Module) functions() (exports, bodies [][]byte) {
	for i, f := range m.Funcs {
		if f.Export != "" {
			exports = append(exports, Cat(Name(f.Export), []byte{0}, U32(uint32(len(m.Imports)+i))))
		}
		var locals [][]byte
		for _, l := range f.Locals {
			locals = append(locals, []byte{1, l})
		}
		body := Cat(Vector(locals), f.Code, []byte{0x0b})
		if f.Raw != nil {
			body = f.Raw
		}
		bodies = append(bodies, Sized(body))
	}
	return exports, bodies
}

func (m Module) data() [][]byte {
	var all [][]byte
	for _, d := range m.Data {
		all = append(all, Cat([]byte{0}, I32Const(d.Offset), []byte{0x0b}, Sized([]byte(d.Bytes))))
	}
	for _, p := range m.Passive {
		all = append(all, Cat([]byte{1}, Sized(p)))
	}
	return all
}

func limits(l []uint32) []byte {
	if len(l) == 1 {
		return Cat([]byte{0}, U32(l[0]))
	}
	return Cat([]byte{1}, U32(l[0]), U32(l[1]))
}

// Cat joins pieces of code.
func Cat(parts ...[]byte) []byte {
	out := []byte{}
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// Repeat repeats a piece of code.
func Repeat(n int, code ...byte) []byte {
	out := make([]byte, 0, n*len(code))
	for range n {
		out = append(out, code...)
	}
	return out
}

// U32 is an unsigned number.
func U32(v uint32) []byte { return binary.AppendUvarint(nil, uint64(v)) }

// S64 is a signed number.
func S64(v int64) []byte {
	var out []byte
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if (v == 0 && b&0x40 == 0) || (v == -1 && b&0x40 != 0) {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

// Name is a string with its length.
func Name(s string) []byte { return Sized([]byte(s)) }

// Sized is data with its length.
func Sized(data []byte) []byte { return Cat(U32(uint32(len(data))), data) }

// Vector is a list with its length.
func Vector(items [][]byte) []byte {
	return Cat(append([][]byte{U32(uint32(len(items)))}, items...)...)
}

// Section is a section.
func Section(id byte, data []byte) []byte { return Cat([]byte{id}, Sized(data)) }

// Type is a function type.
func Type(params, results []byte) []byte { return Cat([]byte{0x60}, Sized(params), Sized(results)) }

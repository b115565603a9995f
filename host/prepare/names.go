package prepare

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Subsections of the name section.
//
// See https://www.w3.org/TR/wasm-core-2/#name-section%E2%91%A0
const subFunctions = 1

// naming is the name of a function.
type naming struct {
	fn   uint32
	name string
}

// functionNames reads the names of functions. A name section that is broken, or
// names what does not exist, is no error of the module: it has no names then.
func (m *module) functionNames() []naming {
	r := &reader{buf: m.names}
	for r.more() {
		id := r.byte()
		data := r.bytes(r.u32())
		if r.err == nil && id == subFunctions {
			return m.readNames(data)
		}
	}
	return nil
}

func (m *module) readNames(data []byte) []naming {
	r := &reader{buf: data}
	names := make([]naming, 0, min(r.count(), m.funcCount()))
	r.pos = 0
	for n := r.count(); n > 0 && r.err == nil; n-- {
		names = append(names, naming{r.u32(), r.name()})
		if last := len(names) - 1; names[last].fn >= m.funcCount() || last > 0 && names[last-1].fn >= names[last].fn {
			return nil
		}
	}
	if r.err != nil {
		return nil
	}
	return names
}

// maxName bounds the names of functions in stack traces, in bytes. Compilers make them long.
const maxName = 500

// legible is a name as it may be in a line of a log.
func legible(name string) string {
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "")
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, name)
}

// funcName is the name of a function for error messages: that of the name
// section or of an export, or else its index.
func (m *module) funcName(fn uint32) string {
	names := m.functionNames()
	i, ok := slices.BinarySearchFunc(names, fn, func(n naming, fn uint32) int { return int(n.fn) - int(fn) })
	if ok {
		return fmt.Sprintf("%d (%s)", fn, names[i].name)
	}
	for _, e := range m.exports {
		if e.kind == kindFunc && e.index == fn {
			return fmt.Sprintf("%d (%s)", fn, e.Name)
		}
	}
	return fmt.Sprint(fn)
}

// appendNames writes the name section of the new module: the functions of the
// original, and those that are new.
func (w *rewriter) appendNames(out []byte) []byte {
	names := w.m.functionNames()
	n := len(names) + 1 + len(w.helpers)
	items := appendU32(nil, uint32(n))
	yieldDone := false
	for _, f := range names {
		if f.fn >= w.yield && !yieldDone {
			items = appendName(appendU32(items, w.yield), HostModule)
			yieldDone = true
		}
		items = appendName(appendU32(items, w.shift(f.fn)), legible(f.name))
	}
	if !yieldDone {
		items = appendName(appendU32(items, w.yield), HostModule)
	}
	first := w.shift(w.m.funcCount())
	for i, h := range w.helpers {
		items = appendName(appendU32(items, first+uint32(i)), h.name)
	}
	section := appendName(nil, "name")
	section = appendSized(append(section, subFunctions), items)
	return appendSection(out, secCustom, section)
}

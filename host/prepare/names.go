package prepare

import (
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/kopf-wasm/kopf/host/internal/wasm"
)

// Subsections of the name section.
//
// See https://www.w3.org/TR/wasm-core-2/#name-section%E2%91%A0
const subFunctions = 1

// functionNames calls each for the names of functions, in their order, until it returns false. A name section that is
// broken, or names what does not exist, is no error of the module: it has no names then.
func (m *module) functionNames(each func(fn uint32, name []byte) bool) {
	content := subsection(m.names, subFunctions)
	if m.readNames(content, func(uint32, []byte) bool { return true }) {
		m.readNames(content, each)
	}
}

// subsection finds a part of the name section.
func subsection(names []byte, id byte) []byte {
	r := &wasm.Reader{Buf: names}
	for r.More() {
		found := r.Byte()
		content := r.Take(r.Linked())
		if r.Err == nil && found == id {
			return content
		}
	}
	return nil
}

// readNames tells whether it could read all names.
func (m *module) readNames(content []byte, each func(fn uint32, name []byte) bool) bool {
	r := &wasm.Reader{Buf: content}
	next := uint32(0)
	for n := r.Count(); n > 0; n-- {
		fn, name := r.U32(), r.Take(r.U32())
		if r.Err != nil || fn < next || fn >= m.funcCount() || !utf8.Valid(name) {
			return false
		}
		next = fn + 1
		if !each(fn, name) {
			break
		}
	}
	return r.Err == nil
}

// maxName bounds the names of functions in stack traces, in bytes. Compilers make them long.
const maxName = 500

// legible is a name as it may be in a line of a log.
func legible(name string) string { return string(appendLegible(nil, name)) }

func appendLegible[T string | []byte](out []byte, name T) []byte {
	end := min(len(name), maxName)
	for end < len(name) && end > 0 && !utf8.RuneStart(name[end]) {
		end--
	}
	for _, r := range string(name[:end]) {
		if !unicode.IsPrint(r) {
			r = utf8.RuneError
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

// funcName is the name of a function for error messages: that of the name
// section or of an export, or else its index.
func (m *module) funcName(fn uint32) string {
	found := ""
	m.functionNames(func(of uint32, name []byte) bool {
		if of == fn {
			found = legible(string(name))
		}
		return of < fn
	})
	for _, e := range m.exports {
		if found == "" && e.kind == kindFunc && e.index == fn {
			found = legible(e.Name)
		}
	}
	if found == "" {
		return fmt.Sprint(fn)
	}
	return fmt.Sprintf("%d (%s)", fn, found)
}

// appendNames writes the name section of the new module: the functions of the
// original, and those that are new.
func (w *rewriter) appendNames(out []byte) []byte {
	var items, text []byte
	n := uint32(0)
	add := func(fn uint32, name []byte) {
		text = appendLegible(text[:0], name)
		items = wasm.AppendSized(wasm.AppendU32(items, fn), text)
		n++
	}
	w.m.functionNames(func(fn uint32, name []byte) bool {
		if fn < w.yield {
			add(fn, name)
		}
		return true
	})
	add(w.yield, []byte(HostModule))
	w.m.functionNames(func(fn uint32, name []byte) bool {
		if fn >= w.yield {
			add(w.shift(fn), name)
		}
		return true
	})
	first := w.shift(w.m.funcCount())
	for i, h := range w.helpers {
		add(first+uint32(i), []byte(h.name))
	}
	section := wasm.AppendName(nil, "name")
	section = wasm.AppendSized(append(section, subFunctions), append(wasm.AppendU32(nil, n), items...))
	return wasm.AppendSection(out, wasm.SectionCustom, section)
}

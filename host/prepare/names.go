package prepare

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/kopf-wasm/kopf/host/internal/wasm"
	"github.com/kopf-wasm/kopf/internal/legible"
)

// Subsections of the name section.
//
// See https://www.w3.org/TR/wasm-core-2/#name-section%E2%91%A0
const subFunctions = 1

// functionNames calls each for the names of functions, in their order, until it returns false. A broken name section,
// or one with unknown indices, is not an error: the module then has no names.
func (m *module) functionNames(each func(fn uint32, name []byte) bool) {
	content := subsection(m.names, subFunctions)
	if m.readNames(content, func(uint32, []byte) bool { return true }) {
		m.readNames(content, each)
	}
}

// subsection returns a subsection of the name section.
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

// readNames reports whether it could read all names.
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

// shown returns a name for log lines and stack traces. It has no tabs, because these mark lines of stack traces.
func shown(name string) string {
	return strings.ReplaceAll(legible.Short(name, maxName), "\t", `\t`)
}

// plain returns a name that is not longer than the original one.
func plain(name string) string {
	text := []byte(name[:min(len(name), maxName)])
	for i, c := range text {
		if c < ' ' || c > '~' {
			text[i] = '?'
		}
	}
	return string(text)
}

// maxEscapes bounds the bytes that escapes add to all names of a module. A text becomes up to six times as
// long, and compilers make no names that need escapes.
const maxEscapes = 64 << 10

// funcName returns the name of a function for error messages: from the name
// section or an export, or its index without them.
func (m *module) funcName(fn uint32) string {
	found := ""
	m.functionNames(func(of uint32, name []byte) bool {
		if of == fn {
			found = shown(string(name))
		}
		return of < fn
	})
	for _, e := range m.exports {
		if found == "" && e.kind == kindFunc && e.index == fn {
			found = shown(e.Name)
		}
	}
	if found == "" {
		return fmt.Sprint(fn)
	}
	return fmt.Sprintf("%d (%s)", fn, found)
}

// appendNames appends the name section of the new module: the functions of the
// original, and the new ones.
func (w *rewriter) appendNames(out []byte) []byte {
	var items []byte
	n, escapes := uint32(0), 0
	add := func(fn uint32, name []byte) {
		text := string(name)
		if escapes <= maxEscapes {
			text = shown(text)
			escapes += max(0, len(text)-len(name))
		} else {
			text = plain(text)
		}
		items = wasm.AppendSized(wasm.AppendU32(items, fn), []byte(text))
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

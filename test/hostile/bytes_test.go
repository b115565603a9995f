package hostile_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// Value types and instructions of WebAssembly.
const (
	i32, i64, funcref = 0x7f, 0x7e, 0x70
	end               = 0x0b
)

// rawModule is a module of WebAssembly, written by hand. It checks nothing.
type rawModule struct {
	registration, step string
	imports            []byte    // the section without its number; nil: none
	tables             []byte    // likewise
	memory             []byte    // limits; nil: one page and more
	start              bool      // the last function is the start function
	code               []byte    // what kopf_start does before it answers
	more               []rawFunc // further functions, from the number 4 on
	tail               []byte    // appended unchanged
}

// rawFunc is a function without parameters and results.
type rawFunc struct {
	locals []byte // encoded
	code   []byte
}

func num(v int) []byte { return binary.AppendUvarint(nil, uint64(v)) }

func cat(parts ...[]byte) []byte {
	var all []byte
	for _, part := range parts {
		all = append(all, part...)
	}
	return all
}

func sized(data []byte) []byte { return append(num(len(data)), data...) }

func vector(items ...[]byte) []byte { return append(num(len(items)), cat(items...)...) }

func section(number byte, content []byte) []byte {
	return append([]byte{number}, sized(content)...)
}

// signed is a number as an operand.
func signed(v int64) []byte {
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

func constant(v int64) []byte { return append([]byte{0x42}, signed(v)...) }

func call(function int) []byte { return append([]byte{0x10}, num(function)...) }

// forever is an endless loop.
func forever(code ...byte) []byte { return cat([]byte{0x03, 0x40}, code, []byte{0x0c, 0, end}) }

// registrationAt is where the registration lies. The step follows, and then the message to the module.
const registrationAt = 16

// done is the step of a handler that has nothing to say.
const done = `{"step":"done","result":1}`

// raw is a guest with the handler fn of new ConfigMaps.
func raw(change func(m *rawModule)) func() []byte {
	return func() []byte {
		m := &rawModule{registration: `{"handlers":[{"kind":"create","id":"fn","resource":{"args":["configmaps"]},"backoff":5}]}`, step: done}
		if change != nil {
			change(m)
		}
		return m.encode()
	}
}

func (m *rawModule) encode() []byte {
	text := func(at int, s string) []byte { return constant(int64(at)<<32 | int64(len(s))) }
	body := func(locals, code []byte) []byte {
		if locals == nil {
			locals = vector()
		}
		return sized(cat(locals, code, []byte{end}))
	}
	types := vector([]byte{0x60, 0, 0}, []byte{0x60, 1, i32, 1, i32}, []byte{0x60, 2, i32, i32, 1, i64}, []byte{0x60, 3, i32, i32, i32, 1, i64})
	stepAt := (registrationAt + len(m.registration) + 15) &^ 15
	inputAt := (stepAt + len(m.step) + 15) &^ 15
	functions := [][]byte{{0}, {1}, {2}, {3}}
	first := 0 // the number of the first function that is not imported
	if m.imports != nil {
		first = 1
	}
	var exports [][]byte
	for i, name := range []string{"kopf_abi_v1", "kopf_alloc", "kopf_register", "kopf_start"} {
		exports = append(exports, cat(sized([]byte(name)), []byte{0}, num(first+i)))
	}
	exports = append(exports, cat(sized([]byte("memory")), []byte{2, 0}))
	bodies := [][]byte{body(nil, nil), body(nil, append([]byte{0x41}, signed(int64(inputAt))...)), body(nil, text(registrationAt, m.registration)), body(nil, cat(m.code, text(stepAt, m.step)))}
	for _, f := range m.more {
		functions, bodies = append(functions, []byte{0}), append(bodies, body(f.locals, f.code))
	}
	memory := m.memory
	if memory == nil {
		memory = cat([]byte{0}, num(2+(inputAt>>16)))
	}
	data := func(at int64, s string) []byte {
		return cat([]byte{0, 0x41}, signed(at), []byte{end}, sized([]byte(s)))
	}
	out := cat([]byte("\x00asm\x01\x00\x00\x00"), section(1, types))
	if m.imports != nil {
		out = append(out, section(2, m.imports)...)
	}
	out = append(out, section(3, vector(functions...))...)
	if m.tables != nil {
		out = append(out, section(4, m.tables)...)
	}
	out = cat(out, section(5, vector(memory)), section(7, vector(exports...)))
	if m.start {
		out = append(out, section(8, num(first+len(functions)-1))...)
	}
	return cat(out, section(10, vector(bodies...)), section(11, vector(data(registrationAt, m.registration), data(int64(stepAt), m.step))), m.tail)
}

// recursing calls itself without an end.
var recursing = raw(func(m *rawModule) { m.code, m.more = call(4), []rawFunc{{code: call(4)}} })

// answering gives a step.
func answering(step string) func() []byte { return raw(func(m *rawModule) { m.step = step }) }

// watchConfigMaps are the rights for the handler of raw modules.
const watchConfigMaps = "- {apiGroups: [''], resources: [configmaps], verbs: [get, list, watch, patch]}"

// configMapsExist creates what the handler of raw modules is called for.
func configMapsExist(t *testing.T, a *attacker) {
	t.Helper()
	a.ApplyIn(t, a.namespace, "{apiVersion: v1, kind: ConfigMap, metadata: {name: obj}, data: {a: b}}")
}

// manyHandlers is a registration of so many handlers.
func manyHandlers(count int) string {
	var text strings.Builder
	text.WriteString(`{"handlers":[`)
	for i := range count {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `{"kind":"create","id":"fn%d","resource":{"args":["configmaps"]}}`, i)
	}
	return text.String() + "]}"
}

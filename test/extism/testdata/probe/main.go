// Command probe is a plugin of Extism that tells all that it can see of its kernel: blocks of memory, variables and
// configuration. Each handler returns a list of what it has seen, so two hosts can be compared.
package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

//go:wasmimport extism:host/env input_length
func inputLength() uint64

//go:wasmimport extism:host/env input_load_u8
func inputByte(offset uint64) uint32

//go:wasmimport extism:host/env alloc
func alloc(size uint64) uint64

//go:wasmimport extism:host/env free
func free(offset uint64)

//go:wasmimport extism:host/env length
func length(offset uint64) uint64

//go:wasmimport extism:host/env length_unsafe
func lengthUnsafe(offset uint64) uint64

//go:wasmimport extism:host/env load_u8
func loadByte(offset uint64) uint32

//go:wasmimport extism:host/env load_u64
func loadWord(offset uint64) uint64

//go:wasmimport extism:host/env store_u8
func storeByte(offset uint64, value uint32)

//go:wasmimport extism:host/env store_u64
func storeWord(offset, value uint64)

//go:wasmimport extism:host/env output_set
func outputSet(offset, size uint64)

//go:wasmimport extism:host/env config_get
func configGet(key uint64) uint64

//go:wasmimport extism:host/env var_get
func varGet(key uint64) uint64

//go:wasmimport extism:host/env var_set
func varSet(key, value uint64)

//go:wasmimport extism:host/user kopf_call
func kopfCall(call uint64) uint64

//go:wasmimport extism:host/user kopf_wait
func kopfWait(milliseconds uint64) uint64

//go:wasmimport extism:host/user kopf_stopped
func kopfStopped() uint64

func put(text string) uint64 {
	at := alloc(uint64(len(text)))
	for i := range len(text) {
		storeByte(at+uint64(i), uint32(text[i]))
	}
	return at
}

// text is a block; "none" without one.
func text(at uint64) string {
	if at == 0 {
		return "none"
	}
	var b strings.Builder
	for i := range length(at) {
		b.WriteByte(byte(loadByte(at + i)))
	}
	return fmt.Sprintf("%q", b.String())
}

// seen is what a handler has seen so far.
type seen []string

func (s *seen) add(what string, value any) { *s = append(*s, fmt.Sprintf("%s: %v", what, value)) }

func set(key, value string) { varSet(put(key), put(value)) }
func get(key string) string { return text(varGet(put(key))) }

var handlers = []struct {
	kind, id string
	do       func(s *seen)
}{
	{"create", "variables", func(s *seen) {
		s.add("kept", get("kept")) // by the call before
		s.add("absent", get("absent"))
		set("kept", "one")
		set("kept", "two")
		s.add("twice", get("kept"))
		set("bytes", "\x00\xff\n")
		s.add("bytes", get("bytes"))
		set("", "no name")
		s.add("no name", get(""))
		set("größe", "ü")
		s.add("not ASCII", get("größe"))
		set("gone", "soon")
		varSet(put("gone"), 0)
		s.add("deleted", get("gone"))
		varSet(put("never"), 0)
		s.add("deleted before it was", get("never"))
		set("copy", "before")
		at := put("before")
		varSet(put("copied"), at)
		storeByte(at, 'B')
		s.add("not changed by its block", get("copied"))
		first, second := varGet(put("copied")), varGet(put("copied"))
		storeByte(first, 'X')
		s.add("a copy each time", text(second)+" "+fmt.Sprint(first != second))
		set("large", strings.Repeat("x", 300_000))
		s.add("large", len(get("large")))
		set("large", "small")
		s.add("smaller", get("large"))
	}},
	{"create", "memory", func(s *seen) {
		s.add("nothing", alloc(0))
		at := alloc(10)
		s.add("length", length(at))
		s.add("unsafe length", lengthUnsafe(at))
		s.add("is aligned", at%8)
		s.add("length within", length(at+1))
		s.add("length of nothing", length(0))
		s.add("length elsewhere", length(1<<40))
		storeWord(at, 0x0102030405060708)
		s.add("a byte of a word", loadByte(at))
		s.add("a word", loadWord(at))
		other := alloc(10)
		s.add("apart", other >= at+10 || at >= other+10)
		s.add("zeros at first", loadWord(other))
		free(at)
		s.add("length when freed", length(at))
		s.add("the other's length", length(other))
		free(at)
		free(0)
		free(other + 1)
		s.add("the other's length after frees of nothing", length(other))
		again := alloc(10)
		s.add("length of one more", length(again)) // wherever it lies
		free(again)
		for range 2000 { // 125 MiB in all
			free(alloc(64 << 10))
		}
		s.add("the other's length after many", length(other))
		large := alloc(1 << 20)
		storeByte(large+1<<20-1, 7)
		s.add("the end of a large one", loadByte(large+1<<20-1))
		s.add("length of a large one", length(large))
		s.add("input beyond its end", inputByte(inputLength()))
	}},
	{"create", "configuration", func(s *seen) {
		s.add("present", text(configGet(put("present"))))
		s.add("absent", text(configGet(put("absent"))))
		s.add("not ASCII", text(configGet(put("größe"))))
		s.add("no name", text(configGet(put(""))))
		s.add("a name that is longer", text(configGet(put("present "))))
		first, second := configGet(put("present")), configGet(put("present"))
		storeByte(first, 'X')
		s.add("a copy each time", text(second))
		s.add("no block as a name", text(configGet(1<<40)))
	}},
	{"create", "large_variable", func(*seen) { set("a", strings.Repeat("x", 2<<20)) }},
	{"create", "large_variables", func(*seen) {
		for _, name := range []string{"a", "b", "c", "d"} {
			set(name, strings.Repeat("x", 400_000))
		}
	}},
	{"create", "outside", func(*seen) { storeByte(1<<40, 1) }},
	{"create", "panic", func(*seen) { panic("enough") }},
	{"daemon", "daemon", func(s *seen) {
		for round := 0; ; round++ {
			if bits := kopfStopped(); bits != 0 {
				s.add("stopped at first", bits)
				return
			}
			set("rounds", fmt.Sprint(round))
			call, err := json.Marshal(map[string]any{"target": "kubernetes", "method": "GET", "path": "/api/" + get("rounds")})
			if err != nil {
				panic(err)
			}
			in := put(string(call))
			answer := kopfCall(in)
			s.add("an answer", text(answer))
			free(in)
			free(answer)
			if bits := kopfWait(1); bits != 0 {
				s.add("stopped in a wait", bits)
				s.add("rounds", get("rounds"))
				return
			}
		}
	}},
}

func output(value any) {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	at := put(string(encoded))
	outputSet(at, uint64(len(encoded)))
}

//go:wasmexport kopf_register
func kopfRegister() int32 {
	var list []map[string]any
	for _, h := range handlers {
		list = append(list, map[string]any{"kind": h.kind, "id": h.id, "fn": h.id, "resource": map[string]any{"args": []string{"kopfexamples"}}})
	}
	output(map[string]any{"sdk": "probe", "handlers": list})
	return 0
}

//go:wasmexport kopf_start
func kopfStart() int32 {
	text := make([]byte, inputLength())
	for i := range text {
		text[i] = byte(inputByte(uint64(i)))
	}
	var invocation struct{ Handler int }
	if err := json.Unmarshal(text, &invocation); err != nil {
		panic(err)
	}
	var s seen
	handlers[invocation.Handler].do(&s)
	output(map[string]any{"step": "done", "result": s})
	return 0
}

func main() {}

package prepare

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/host/internal/asm"
	"github.com/kopf-wasm/kopf/host/internal/wasm"
)

// What taking modules apart and rewriting them takes at most.
const (
	parseFactor   = 10      // bytes of memory for each byte of the file, all that are ever allocated added up
	prepareFactor = 20      // the same for parsing and rewriting
	constant      = 8 << 20 // bytes of memory, whatever the size
	perMegabyte   = time.Second
)

// usage is what the process has used so far: memory that was ever allocated, and computing time.
func usage(t testing.TB) (allocated uint64, computed time.Duration) {
	t.Helper()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	computed, err := computing()
	if err != nil {
		t.Fatal(err)
	}
	return m.TotalAlloc, computed
}

// bounded fails if parsing or preparing a module takes too much. It returns the error of the module.
func bounded(t testing.TB, bin []byte) error {
	t.Helper()
	before, begin := usage(t)
	s, err := Parse(bin)
	after, _ := usage(t)
	parsed := after - before
	if parsed > parseFactor*uint64(len(bin))+constant {
		t.Errorf("parsing %d bytes takes %d bytes", len(bin), parsed)
	}
	if err == nil {
		_, err = s.Prepare(testLimits)
	}
	after, end := usage(t)
	if all := after - before; all > prepareFactor*uint64(len(bin))+constant {
		t.Errorf("preparing %d bytes takes %d bytes", len(bin), all)
	}
	megabytes := float64(len(bin))/(1<<20) + 1
	if took := end - begin; took > time.Duration(megabytes*float64(perMegabyte)) {
		t.Errorf("preparing %d bytes takes %v", len(bin), took)
	}
	t.Logf("%d KiB: parsed in %.1f, prepared in %.1f times its size, %v for each MiB: %v", len(bin)>>10,
		float64(parsed)/float64(len(bin)), float64(after-before)/float64(len(bin)), time.Duration(float64(end-begin)*(1<<20)/float64(len(bin))).Round(time.Millisecond), err)
	return err
}

// worst are modules of about so many bytes that take as much memory or time as possible, for what they are.
func worst(size int) map[string][]byte {
	wide := func(n int) []byte { return asm.Type(asm.Repeat(n, asm.ExternRef), asm.Repeat(n, asm.ExternRef)) }
	module := func(sections ...[]byte) []byte { return asm.Cat([]byte(wasm.Magic), asm.Cat(sections...)) }
	many := func(n int, item ...byte) []byte { return asm.Cat(asm.U32(uint32(n)), bytes.Repeat(item, n)) }
	memory := asm.Section(wasm.SectionMemory, []byte{1, 0, 1})
	nothing := asm.Section(wasm.SectionType, asm.Vector([][]byte{asm.Type(nil, nil)}))
	functions := func(n int, body ...byte) []byte {
		return module(nothing, asm.Section(wasm.SectionFunction, many(n, 0)), memory, asm.Section(wasm.SectionCode, many(n, asm.Sized(body)...)))
	}
	exports := func(n int) []byte {
		var items [][]byte
		for i := range n {
			items = append(items, asm.Cat(asm.Name(fmt.Sprint(i)), []byte{0, 0}))
		}
		return asm.Section(wasm.SectionExport, asm.Vector(items))
	}
	types := min(maxTypes, size/35)
	var perType [][]byte // an export of a function of each type
	for i := range types {
		perType = append(perType, asm.Cat(asm.Name(fmt.Sprint(i)), []byte{0}, asm.U32(uint32(i))))
	}
	var indices []byte
	for i := range types {
		indices = append(indices, asm.U32(uint32(i))...)
	}
	odd := func(length int) []byte { // a name of control characters for each function
		var items [][]byte
		for i := range size / (length + 10) {
			items = append(items, asm.Cat(asm.U32(uint32(i)), asm.Name(strings.Repeat("\x01", length))))
		}
		return asm.Cat(functions(len(items), 0, opEnd), asm.Section(0, asm.Cat(asm.Name("name"), []byte{1}, asm.Sized(asm.Vector(items)))))
	}
	loops := bytes.Repeat(asm.Cat(asm.Loop, asm.End), 10)
	return map[string][]byte{
		"wide type, many exports": module(asm.Section(wasm.SectionType, asm.Vector([][]byte{wide(maxParams)})),
			asm.Section(wasm.SectionFunction, []byte{1, 0}), memory, exports(min(maxExports, size/7)), asm.Section(wasm.SectionCode, []byte{1, 3, 0, 0, opEnd})),
		"type of all the bytes": module(asm.Section(wasm.SectionType, asm.Vector([][]byte{wide(size / 2)})),
			asm.Section(wasm.SectionFunction, []byte{1, 0}), exports(100), asm.Section(wasm.SectionCode, []byte{1, 3, 0, 0, opEnd})),
		"exports of many types": module(asm.Section(wasm.SectionType, many(types, wide(16)...)), asm.Section(wasm.SectionFunction, asm.Cat(asm.U32(uint32(types)), indices)),
			memory, asm.Section(wasm.SectionExport, asm.Vector(perType)), asm.Section(wasm.SectionCode, many(types, 3, 0, 0, opEnd))),
		"types":                 module(asm.Section(wasm.SectionType, many(size/3, 0x60, 0, 0))),
		"functions":             functions(size/4, 0, opEnd),
		"functions with names":  asm.Cat(functions(1, 0, opEnd), asm.Section(0, asm.Cat(asm.Name("name"), []byte{1}, asm.Sized(asm.Cat([]byte{1, 0}, asm.Sized(asm.Repeat(size, 1))))))),
		"odd names":             odd(maxName),
		"short odd names":       odd(50),
		"custom sections":       module(bytes.Repeat([]byte{0, 1, 0}, size/3)),
		"data segments":         module(memory, asm.Section(wasm.SectionData, many(min(size/2, maxData), 1, 0))),
		"active data segments":  module(memory, asm.Section(wasm.SectionData, many(min(size/6, maxData), 0, opI32Const, 0, opEnd, 1, 1))),
		"empty element segment": module(memory, asm.Section(wasm.SectionElement, many(min(size/3, maxReferences), 1, 0, 0))),
		"elements":              module(nothing, asm.Section(wasm.SectionFunction, []byte{1, 0}), memory, asm.Section(wasm.SectionElement, asm.Cat([]byte{1, 1, 0}, many(min(size, maxReferences-1), 0))), asm.Section(wasm.SectionCode, []byte{1, 2, 0, opEnd})),
		"loops":                 functions(size/(len(loops)+3), asm.Cat([]byte{0}, loops, asm.End)...),
		"no code but loops":     functions(size/6, asm.Cat([]byte{0}, asm.Loop, asm.End, asm.End)...),
		"labels":                functions(1, asm.Cat([]byte{0, opI32Const, 0, opBrTable}, many(size, 0), []byte{0, opEnd})...),
		"blocks":                functions(size/6000, asm.Cat([]byte{0}, bytes.Repeat(asm.Cat(asm.Block, asm.End), 2000), asm.End)...),
		"nested blocks":         functions(size/6000, asm.Cat([]byte{0}, bytes.Repeat(asm.Block, 2000), bytes.Repeat(asm.End, 2001))...),
		"straight code":         functions(1, asm.Cat([]byte{0}, asm.Repeat(size, 1), asm.End)...),
		"vectors":               functions(size/(20*500), asm.Cat([]byte{0}, bytes.Repeat(asm.Cat([]byte{opPrefixSIMD, simdConst}, make([]byte, 16), asm.Drop), 500), asm.End)...),
		"memory.fill":           functions(size/3000, asm.Cat([]byte{0}, bytes.Repeat(asm.Cat(asm.Unreachable, asm.MemoryFill), 800), asm.End)...),
		"jumps":                 functions(1, asm.Cat([]byte{1, 1, asm.I32}, dispatching(bytes.Repeat(jump(1, 1), size/6), nil), asm.End)...),
		"faults":                functions(size/4, 0x63, opEnd),
	}
}

// TestWorstModulesAreBounded: memory and time are linear in the size of the module, with small factors.
func TestWorstModulesAreBounded(t *testing.T) {
	for _, size := range []int{1 << 20, 8 << 20} {
		for name, bin := range worst(size) {
			t.Run(fmt.Sprintf("%s, %d MiB", name, size>>20), func(t *testing.T) {
				if err := bounded(t, bin); err != nil && !errors.Is(err, ErrLimit) && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrFeature) {
					t.Error(err)
				}
			})
		}
	}
}

// TestErrorsAreShort: whatever names a module gives.
func TestErrorsAreShort(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	m := program(asm.I32Const(0), asm.Func{Export: long, Code: []byte{0xff}})
	if _, err := prepared(m.Encode()); err == nil || len(err.Error()) > 1000 {
		t.Errorf("%.2000v", err)
	}
	m = program(asm.I32Const(0))
	m.Exports = [][]byte{asm.Cat(asm.Name(reserved+long), []byte{0, 0})}
	if _, err := prepared(m.Encode()); err == nil || len(err.Error()) > 1000 {
		t.Errorf("%.2000v", err)
	}
}

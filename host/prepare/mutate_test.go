package prepare

import (
	"flag"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kopf-wasm/kopf/host/internal/asm"
	"github.com/kopf-wasm/kopf/host/internal/wasm"
)

// fuzzing tells whether the tests run to find something new.
func fuzzing() bool {
	f := flag.Lookup("test.fuzz")
	return f != nil && f.Value.String() != ""
}

// maxSeed is the size of the largest module that is mutated: small ones are tried more often.
const maxSeed = 16 << 10

// seedModules are modules of the specification's tests, of all proposals, and small ones of ours. Tests that are not
// there to find something new use a part of them.
func seedModules(t testing.TB) [][]byte {
	t.Helper()
	var all [][]byte
	for _, folder := range []string{"v2", "exception-handling", "extended-const", "tail-call", "threads", "typed-function-references"} {
		for i, file := range specFiles(t, folder, "*.wasm") {
			if i%40 != 0 && !fuzzing() {
				continue
			}
			bin, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, bin)
		}
	}
	guests, err := filepath.Glob("../../.cache/guests/*.wasm")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range guests { // they are built by make; their functions are taken one by one
		if bin, err := os.ReadFile(file); err == nil {
			all = append(all, functionsOf(bin)...)
		}
	}
	for seed := range int64(20) {
		all = append(all, generated(seed).Encode())
	}
	for _, some := range []map[string]asm.Module{asm.Attacks(), asm.Divergent()} {
		for _, m := range some {
			all = append(all, m.Encode())
		}
	}
	for i := range all {
		all[i] = withMemory(all[i]) // those without one are refused
	}
	return slices.DeleteFunc(all, func(bin []byte) bool { return len(bin) > maxSeed })
}

// functionsOf are modules of some functions of a guest each, with all else of it but the data.
func functionsOf(bin []byte) [][]byte {
	s, err := Parse(bin)
	if err != nil || !fuzzing() {
		return nil
	}
	var all [][]byte
	for i := 0; i < len(s.code); i += max(1, len(s.code)/50) {
		m := *s.m
		m.data, m.dataCount, m.elements, m.elementTypes, m.start = nil, nil, nil, nil, nil
		code := &canonicalCode{}
		for j, b := range s.code {
			body := []byte{0, opUnreachable, opEnd}
			if i == j {
				body = bin[b.begin:b.end]
			}
			code.buf = append(code.buf, body...)
			code.ends = append(code.ends, uint32(len(code.buf)))
		}
		all = append(all, m.appendCanonical(nil, code))
	}
	return all
}

// pieces are bytes that readers of modules may see differently.
var pieces = [][]byte{
	{0x63},
	{0x64},
	{0x63, 0x22},
	{0x63, 0x28, 0x00},
	{0x64, 0x00},
	{0x40},
	{0x69},
	{0x6e},
	{0x70},
	{0x6f},
	{0x7b},
	{0x7f},
	{opSelectTyped, 1, 0x63, 0x22, 1},
	{opSelectTyped, 1, asm.I32},
	{opSelectTyped, 2, asm.I32, asm.I32},
	{opSelectTyped, 0},
	{0x02, 0x63, 0x28},
	{0x03, 0x63, 0x28},
	{0x04, 0x64, 0x00},
	{0x02, 0xff, 0x7f},
	{0x02, 0x40},
	{0x02, 0x80, 0x00},
	{opEnd},
	{opElse},
	{0xfd, 0x8c, 0x00},
	{0xfd, 0x8c, 0x01},
	{0xfd, 0x80, 0x80, 0x00},
	{0xfd, 0x0c},
	{0xfd, 0x0d},
	{0xfd, 0x8c, 0x80, 0x80, 0x80, 0x00},
	{0xfd, 0x9a, 0x01},
	{0xfd, 0x80, 0x02},
	{0xfc, 0x80, 0x00},
	{0xfc, 0x0a, 0x80, 0x00, 0x00},
	{0xfc, 0x0b, 0x01},
	{0xfc, 0x11, 0x00},
	{0x28, 0x42, 0x00, 0x00},
	{0x28, 0x82, 0x00, 0x00},
	{0x3f, 0x80, 0x00},
	{0x40, 0x01},
	{0x80},
	{0x80, 0x80, 0x80, 0x80, 0x00},
	{0xff, 0xff, 0xff, 0xff, 0x0f},
	{0xd0, 0x00},
	{0xd0, 0x63, 0x00},
	{0xd2, 0x00},
	{0x41, 0x80, 0x80, 0x80, 0x80, 0x00},
	{0x41, 0xff, 0x7f},
	{0x42, 0x80, 0x80, 0x00},
	{0x00},
	{0x01},
	{0x1a},
	{0x0e, 0x01, 0x00, 0x00},
	{0x06, 0x40},
	{0x12, 0x00},
	{0x14, 0x00},
	{0xfb, 0x00, 0x00},
	{0xfe, 0x00, 0x00, 0x00},
	{0x25, 0x00},
	{0x26, 0x00},
}

// mutated changes the bodies of some functions at the borders of instructions or anywhere, or bytes outside of the
// code. The sizes around what it changed stay right.
func mutated(bin []byte, rnd *rand.Rand, more []byte) []byte {
	out := []byte(wasm.Magic)
	changes := 1 + rnd.Intn(3)
	_ = wasm.Sections(bin, func(s wasm.Section, r *wasm.Reader) error {
		content := slices.Clone(bin[r.Pos:s.End])
		switch {
		case s.ID == wasm.SectionCustom:
			content = nil
		case s.ID == wasm.SectionCode:
			content = mutatedCode(&reader{Reader: r}, rnd, more, changes)
		case rnd.Intn(8) == 0 && len(content) > 0:
			content = replaced(content, rnd.Intn(len(content)), rnd.Intn(2), pieces[rnd.Intn(len(pieces))])
		}
		if content != nil {
			out = append(out, asm.Section(s.ID, content)...)
		}
		r.Pos = s.End
		return nil
	})
	return out
}

// mutatedCode is a code section in which some bodies are changed.
func mutatedCode(r *reader, rnd *rand.Rand, more []byte, changes int) []byte {
	spans := bodies(r)
	all := make([][]byte, len(spans))
	for i, b := range spans {
		all[i] = slices.Clone(r.Buf[b.begin:b.end])
	}
	for range changes {
		if len(all) == 0 {
			break
		}
		i := rnd.Intn(len(all))
		all[i] = mutatedBody(all[i], rnd, more)
	}
	for i := range all {
		all[i] = asm.Sized(all[i])
	}
	return asm.Vector(all)
}

// mutatedBody changes one place of a body.
func mutatedBody(body []byte, rnd *rand.Rand, more []byte) []byte {
	borders := bordersOf(body)
	at := borders[rnd.Intn(len(borders))]
	next := at
	if i := slices.Index(borders, at); i+1 < len(borders) {
		next = borders[i+1]
	}
	piece := pieces[rnd.Intn(len(pieces))]
	if len(more) > 0 && rnd.Intn(3) == 0 {
		piece = more
	}
	switch rnd.Intn(7) {
	case 0: // in place of an instruction
		return replaced(body, at, next-at, piece)
	case 1: // before it
		return replaced(body, at, 0, piece)
	case 2: // without it
		return replaced(body, at, next-at, nil)
	case 3: // twice
		return replaced(body, at, 0, slices.Clone(body[at:next]))
	case 4: // another byte of it
		if next > at {
			body[at+rnd.Intn(next-at)] = byte(rnd.Intn(256))
		}
		return body
	case 5: // a longer number at its end
		if next > at+1 && body[next-1] < 0x80 {
			body[next-1] |= 0x80
			return replaced(body, next, 0, [][]byte{{0x00}, {0x80, 0x80, 0x80, 0x00}, {0x7f}}[rnd.Intn(3)])
		}
		return body
	}
	return replaced(body, rnd.Intn(len(body)+1), rnd.Intn(2), piece)
}

// bordersOf are where the instructions of a body begin, as far as it can be read.
func bordersOf(body []byte) []int {
	r := newReader(body)
	for n := r.Count(); n > 0; n-- {
		r.Linked()
		r.valueType()
	}
	all := []int{min(r.Pos, len(body))}
	for r.More() {
		if r.instruction(); r.Err == nil {
			all = append(all, r.Pos)
		}
	}
	return all
}

// replaced puts other bytes in place of some.
func replaced(data []byte, at, n int, with []byte) []byte {
	at = min(at, len(data))
	return slices.Concat(data[:at], with, data[min(at+n, len(data)):])
}

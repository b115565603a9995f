//go:build traced

package prepare

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/api"

	"github.com/kopf-wasm/kopf/host/internal/asm"
	"github.com/kopf-wasm/kopf/host/internal/wasm"
)

// These tests run with a copy of the engine whose three readers of function bodies (the validator, the compiler and
// the interpreter) report each instruction that they read: scripts/traced.sh test ./host/prepare -run Engines

// TestEnginesReadTheSameInstructions: of all modules of the specification's tests that are accepted, and of guests
// of all compilers, as far as they have been built, all readers see the same instructions as this package.
func TestEnginesReadTheSameInstructions(t *testing.T) {
	var files, guests []string
	for _, folder := range []string{"v1", "v2", "exception-handling", "extended-const", "tail-call", "threads", "typed-function-references"} {
		files = append(files, specFiles(t, folder, "*.wasm")...)
	}
	// Guests of each compiler; those of Go are large, and most of it is the same in all. KOPF_MODULES is a pattern of more files.
	for _, pattern := range []string{"../../.cache/guests/conformance-*.wasm", "../../.cache/guests/extism-*.wasm", "../../.cache/guests/rust-sdk*.wasm", "../../bin/engines/*.wasm", os.Getenv("KOPF_MODULES")} {
		more, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		guests = append(guests, more...)
	}
	var done readings
	for _, file := range append(files, guests...) {
		before := done.modules
		bin, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := done.compare(withMemory(bin)); err != nil {
			t.Errorf("%s: %v", filepath.Base(file), err)
		}
		if done.modules == before && slices.Contains(guests, file) {
			t.Errorf("%s is not accepted", filepath.Base(file))
		}
	}
	t.Logf("%d modules and %d guests, %d of them accepted: %d bodies, %d instructions", len(files), len(guests), done.modules, done.bodies, done.instructions)
	if done.modules < 1_950 || done.instructions < 200_000 {
		t.Error("too few modules were compared")
	}
}

// FuzzInstructions compares what all readers see of modules that are changed as in FuzzMutations.
func FuzzInstructions(f *testing.F) {
	seeds := seedModules(f)
	for i := range int64(len(seeds)) {
		f.Add(uint32(i), i*7919, []byte(nil))
	}
	f.Fuzz(func(t *testing.T, which uint32, seed int64, more []byte) {
		if len(more) > 64 {
			return
		}
		var done readings
		if err := done.compare(mutated(seeds[int(which)%len(seeds)], rand.New(rand.NewSource(seed)), more)); err != nil {
			t.Fatal(err)
		}
	})
}

// TestEnginesMisreadWhatTheGrammarRefuses: modules that the grammar refuses are given to the engine as they are. Its
// readers see other instructions than the grammar has; a typed select has even another length for the validator than
// for the compilers. The comparison reports all of them.
func TestEnginesMisreadWhatTheGrammarRefuses(t *testing.T) {
	for name, m := range asm.Divergent() {
		bin := m.Encode()
		if _, err := prepareBy(bin, testLimits); err == nil {
			t.Errorf("%s: accepted", name)
		}
		_, err := compareReadings(bin)
		t.Logf("%s: %v", name, err)
		if err == nil {
			t.Errorf("%s: all readers see the same", name)
		}
		if !strings.HasPrefix(name, "select") {
			continue
		}
		for reader, interpreted := range map[string]bool{"compiler": false, "interpreter": true} {
			read, err := tracedReadings(bin, interpreted)
			if err != nil {
				t.Fatal(err)
			}
			if slices.EqualFunc(read["validator"], read[reader], sameBorders) {
				t.Errorf("%s: the engine's validator and its %s read the same instructions: is docs/advisories still true?", name, reader)
			}
		}
	}
}

// sameBorders tells whether instructions begin at the same places.
func sameBorders(a, b bodyReading) bool {
	return slices.EqualFunc(a.instructions, b.instructions, func(x, y instructionReading) bool { return x.at == y.at })
}

// TestMisreadingsOfThisPackageAreReportedByEngines: if the grammar had an instruction wrong, the comparison would say so.
func TestMisreadingsOfThisPackageAreReportedByEngines(t *testing.T) {
	g := asm.Guest(nil, asm.Func{Results: []byte{asm.I32}, Code: asm.Cat(asm.I32Const(1), asm.I32Const(2), asm.I32Const(1), []byte{opSelectTyped, 1, asm.I32})}).Encode()
	if _, err := compareReadings(g); err != nil {
		t.Fatal(err)
	}
	for name, wrong := range map[string]struct {
		of *form
		as immediates
	}{
		"another length":  {&core[opSelectTyped], immNone},
		"another meaning": {&core[opI32Const], immRefType},
	} {
		right := wrong.of.imm
		wrong.of.imm = wrong.as
		_, err := compareReadings(g)
		wrong.of.imm = right
		t.Logf("%s: %v", name, err)
		if err == nil {
			t.Errorf("%s: all readers see the same", name)
		}
	}
}

// readings counts what was compared.
type readings struct{ modules, bodies, instructions int }

// compare compares the readings of the two forms of a module that the engine gets: the canonical and the rewritten one.
func (r *readings) compare(bin []byte) error {
	s, err := Parse(bin)
	if err != nil {
		return nil
	}
	p, err := s.Prepare(testLimits)
	if err != nil {
		return nil
	}
	for i, form := range [][]byte{p.Canonical, p.Wasm} {
		read, err := compareReadings(form)
		if err != nil {
			return fmt.Errorf("form %d: %w", i, err)
		}
		if read == nil {
			return nil // the engine's validator refuses it
		}
		r.bodies += len(read)
		for _, b := range read {
			r.instructions += len(b.instructions)
		}
	}
	r.modules++
	return nil
}

// compareReadings compares this package's reading of a module with those of the engine's validator, compiler and
// interpreter. It returns nil if the engine refuses the module.
func compareReadings(bin []byte) ([]bodyReading, error) {
	var traced [2]map[string][]bodyReading
	for i, interpreted := range []bool{true, false} {
		read, err := tracedReadings(bin, interpreted)
		if err != nil {
			return nil, nil //nolint:nilerr // what is refused is not compared
		}
		traced[i] = read
	}
	ours := ourReadings(bin)
	interpreter, compiler := traced[0]["interpreter"], traced[1]["compiler"]
	for _, other := range [][]bodyReading{traced[0]["validator"], traced[1]["validator"], interpreter, compiler} {
		if len(other) != len(ours) {
			return nil, fmt.Errorf("%d bodies, want %d", len(other), len(ours))
		}
		for i := range ours {
			if err := ours[i].differs(other[i]); err != nil {
				return nil, fmt.Errorf("function %d: %w", i, err)
			}
		}
	}
	for i := range ours {
		if err := sameOperands(traced[0]["validator"][i], interpreter[i], compiler[i]); err != nil {
			return nil, fmt.Errorf("function %d: %w", i, err)
		}
	}
	return ours, nil
}

// bodyReading is how one reader sees a function body.
type bodyReading struct {
	reader       string
	locals       string // letters of their types
	body         []byte
	instructions []instructionReading
}

// instructionReading is how it sees an instruction.
type instructionReading struct {
	at       int
	live     bool   // the reader takes it for code that can be reached
	operands string // letters of the types on the stack
	numbers  []int64
	memory   bool // one of them is the index of a memory, which some readers read as a byte
}

// tracedReadings compiles a module, and returns what each reader of the engine has seen.
func tracedReadings(bin []byte, interpreted bool) (map[string][]bodyReading, error) {
	all := map[string][]bodyReading{}
	var last *instructionReading
	api.TraceInstruction = func(in api.Instruction) {
		if in.PC == 0 {
			all[in.Reader] = append(all[in.Reader], bodyReading{reader: in.Reader, body: in.Body, locals: in.Locals})
		}
		b := &all[in.Reader][len(all[in.Reader])-1]
		b.instructions = append(b.instructions, instructionReading{at: in.PC, live: in.Live, operands: in.Operands})
		last = &b.instructions[len(b.instructions)-1]
		if in.PC == len(in.Body)-1 {
			last = nil // what is read after the end belongs to no instruction
		}
	}
	api.TraceNumber = func(v int64) {
		if last != nil {
			last.numbers = append(last.numbers, v)
		}
	}
	defer func() { api.TraceInstruction, api.TraceNumber = nil, nil }()
	return all, compiles(bin, interpreted)
}

// ourReadings is how this package sees the bodies of a module.
func ourReadings(bin []byte) []bodyReading {
	var all []bodyReading
	_ = wasm.Sections(bin, func(s wasm.Section, r *wasm.Reader) error {
		if s.ID == wasm.SectionCode {
			for _, b := range bodies(&reader{Reader: r}) {
				all = append(all, ourReading(bin[b.begin:b.end]))
			}
		}
		r.Pos = s.End
		return nil
	})
	return all
}

func ourReading(body []byte) bodyReading {
	r := newReader(body)
	out := bodyReading{reader: "this package"}
	for n := r.Count(); n > 0; n-- {
		count := r.Linked()
		out.locals += strings.Repeat(letter(r.valueType()), int(count))
	}
	begin := r.Pos
	out.body = body[min(begin, len(body)):]
	for r.More() {
		at := r.Pos - begin
		in := r.instruction()
		out.instructions = append(out.instructions, instructionReading{at: at, numbers: numbersOf(in), memory: hasMemory(in)})
		if in.op == opPrefixSIMD && in.sub >= 0x80 {
			// The engine takes the second byte of the opcode for an instruction of its own, nop: see docs/advisories.
			out.instructions = append(out.instructions, instructionReading{at: at + 2})
		}
	}
	return out
}

// letter stands for a type in the engine's traces.
func letter(t valueType) string {
	switch t {
	case 0x7f:
		return "i"
	case typeV128:
		return "v"
	case 0x7d:
		return "f"
	case 0x7c:
		return "d"
	}
	return "l"
}

// hasMemory tells instructions with the index of a memory.
func hasMemory(in *instruction) bool {
	imm := in.form().imm
	return imm == immMemory || imm == immMemories || imm == immDataInit
}

// numbersOf are the numbers that follow the opcode, as the engine decodes them.
func numbersOf(in *instruction) []int64 {
	a, b := int64(in.a), int64(in.b)
	switch f := in.form(); f.imm {
	case immFunction, immLabel, immLocal, immGlobal:
		return []int64{a}
	case immIndirect, immAccess, immLaneAccess:
		return []int64{a, b}
	case immTable, immData, immElem:
		if in.op == opPrefixBulk {
			return []int64{int64(in.sub), a}
		}
		return []int64{a}
	case immElemInit, immTables, immDataInit, immMemories:
		return []int64{int64(in.sub), a, b}
	case immBlock:
		return []int64{in.blockType}
	case immI32, immI64:
		return []int64{int64(in.value)}
	case immLabels:
		all := []int64{int64(len(in.labels) - 1)}
		for _, l := range in.labels {
			all = append(all, int64(l))
		}
		return all
	case immMemory:
		if in.op == opPrefixBulk {
			return []int64{int64(in.sub), a}
		}
		return []int64{a}
	case immNone:
		if in.op == opPrefixBulk {
			return []int64{int64(in.sub)}
		}
	}
	return nil
}

// differs says what another reader sees differently: the bytes, the types of local variables, where instructions
// begin, and the numbers in them. A reader may read a number twice.
func (b *bodyReading) differs(other bodyReading) error {
	if string(b.body) != string(other.body) {
		return fmt.Errorf("%s: other bytes", other.reader)
	}
	if b.locals != other.locals {
		return fmt.Errorf("%s: local variables of the types %q, want %q", other.reader, other.locals, b.locals)
	}
	for i, in := range b.instructions {
		if i >= len(other.instructions) {
			return fmt.Errorf("%s: no instruction at %d", other.reader, in.at)
		}
		o := other.instructions[i]
		if o.at != in.at {
			return fmt.Errorf("%s: an instruction at %d, want one at %d, behind %#x", other.reader, o.at, in.at, b.body[b.instructions[max(i, 1)-1].at])
		}
		if !within(o.numbers, in.numbers) || !within(in.numbers, o.numbers) && !in.memory {
			return fmt.Errorf("%s: the numbers %d in the instruction %#x at %d, want %d", other.reader, o.numbers, b.body[in.at], in.at, in.numbers)
		}
	}
	if len(other.instructions) > len(b.instructions) {
		return fmt.Errorf("%s: one more instruction at %d", other.reader, other.instructions[len(b.instructions)].at)
	}
	return nil
}

func within(some, all []int64) bool {
	return !slices.ContainsFunc(some, func(v int64) bool { return !slices.Contains(all, v) })
}

// sameOperands compares the types of the operands in code that can be reached.
func sameOperands(validator, interpreter, compiler bodyReading) error {
	for i, v := range validator.instructions {
		a, b := interpreter.instructions[i], compiler.instructions[i]
		if b.live && !a.live { // the compiler is the one that sees more of what cannot be reached
			return fmt.Errorf("the instruction %#x at %d can be reached in the compiler, but not in the interpreter", validator.body[v.at], v.at)
		}
		if b.live && (v.operands != a.operands || v.operands != b.operands) {
			return fmt.Errorf("operands of the instruction %#x at %d: validator %q, interpreter %q, compiler %q", validator.body[v.at], v.at, v.operands, a.operands, b.operands)
		}
	}
	return nil
}

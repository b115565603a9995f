package prepare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// FuzzMutations changes modules at the borders of instructions, and compares all readers of what is accepted.
func FuzzMutations(f *testing.F) {
	seeds := seedModules(f)
	for i := range int64(len(seeds)) {
		f.Add(uint32(i), i*7919, []byte(nil))
	}
	f.Fuzz(func(t *testing.T, which uint32, seed int64, more []byte) {
		if len(more) > 64 {
			return
		}
		compareReaders(t, mutated(seeds[int(which)%len(seeds)], rand.New(rand.NewSource(seed)), more))
	})
}

// FuzzReaders is FuzzMutations for any bytes.
func FuzzReaders(f *testing.F) {
	for _, bin := range seedModules(f) {
		f.Add(bin)
	}
	f.Fuzz(func(t *testing.T, bin []byte) {
		if len(bin) <= maxSeed {
			compareReaders(t, bin)
		}
	})
}

// FuzzParsing looks for modules that take too much memory or time.
func FuzzParsing(f *testing.F) {
	for _, bin := range worst(4 << 10) {
		f.Add(bin)
	}
	for _, bin := range seedModules(f) {
		f.Add(bin)
	}
	f.Fuzz(func(t *testing.T, bin []byte) { _ = bounded(t, bin) })
}

// TestDivergentModulesAreSeen: what the comparison is for. The engine accepts these modules, which we refuse.
func TestDivergentModulesAreSeen(t *testing.T) {
	for name, m := range asm.Divergent() {
		if err := compiles(m.Encode(), true); err != nil {
			t.Errorf("%s: the engine refuses it: %v", name, err)
		}
	}
}

// compareReaders compares, of a module that is accepted:
//
//   - the instructions of each body as decoded by this package, and by the second decoder from the original and from
//     the canonical form;
//   - that the canonical form is its own canonical form;
//   - whether the engine's validator and both its compilers accept the original, the canonical form, and, if so, the rewritten module;
//   - in both engines, what calls of its exports do, of all three.
func compareReaders(t *testing.T, bin []byte) {
	s, err := Parse(bin)
	if err != nil {
		return
	}
	p, err := s.Prepare(testLimits)
	if err != nil {
		return
	}
	again, err := Parse(p.Canonical)
	if err != nil {
		t.Fatalf("the canonical form is refused: %v", err)
	}
	if twice, err := again.Prepare(testLimits); err != nil || !bytes.Equal(twice.Canonical, p.Canonical) {
		t.Fatalf("the canonical form has another canonical form: %v", err)
	}
	grows := sameListings(t, s, again)
	original, canonical := withoutCustomSections(bin), p.Canonical
	for _, interpreted := range []bool{true, false} {
		first, second := compiles(original, interpreted), compiles(canonical, interpreted)
		if (first == nil) != (second == nil) {
			t.Fatalf("interpreted %t: the engine reads the original as %v, its canonical form as %v", interpreted, first, second)
		}
		if first == nil {
			if err := compiles(p.Wasm, interpreted); err != nil {
				t.Fatalf("interpreted %t: the rewritten module: %v", interpreted, err)
			}
		}
		if first != nil {
			return
		}
	}
	if !grows { // tables of the original have no bound: they would take all memory
		sameRuns(t, s, p, [][]byte{original, canonical})
	}
}

// sameListings compares the instructions of all bodies. It tells whether one of them grows a table.
func sameListings(t *testing.T, original, canonical *Source) (grows bool) {
	t.Helper()
	for i := range original.code {
		a, b := original.code[i], canonical.code[i]
		before, err := listing(original.bin[a.begin:a.end])
		after, err2 := listing(canonical.bin[b.begin:b.end])
		if err != nil || err2 != nil || !slices.Equal(before, after) {
			t.Fatalf("function %d: %v %v, %v %v", i, before, err, after, err2)
		}
		r := newReader(canonical.bin[b.begin:b.end])
		lines := 0
		for n := r.Count(); n > 0; n-- {
			r.Linked()
			r.valueType()
			lines++
		}
		for r.More() {
			in := r.instruction()
			grows = grows || in.op == opPrefixBulk && in.sub == bulkTableGrow
			lines++
		}
		if r.Err != nil || lines != len(after) {
			t.Fatalf("function %d: %d instructions, %v, but %d by the second decoder", i, lines, r.Err, len(after))
		}
	}
	return grows
}

// compiles is what one of the engines says of a module.
func compiles(bin []byte, interpreted bool) error {
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, differentialConfig(interpreted))
	defer rt.Close(ctx)
	_, err := rt.CompileModule(ctx, bin)
	return err
}

func differentialConfig(interpreted bool) wazero.RuntimeConfig {
	config := wazero.NewRuntimeConfigCompiler()
	if interpreted {
		config = wazero.NewRuntimeConfigInterpreter()
	}
	return config.WithMemoryLimitPages(testLimits.MemoryPages).WithCoreFeatures(api.CoreFeaturesV2).WithCloseOnContextDone(true)
}

// sameRuns calls the exports of the rewritten module, and, if that ends soon, those of the other forms, in both
// engines. All must do the same.
func sameRuns(t *testing.T, s *Source, p *Prepared, forms [][]byte) {
	t.Helper()
	if len(s.m.tables) > 0 && s.m.tables[0].min > 1000 || p.MinPages > 16 || len(s.m.imports) > 20 {
		return // they take long, and show nothing else
	}
	for _, interpreted := range []bool{true, false} {
		want, spent := runAll(s, p, p.Wasm, interpreted)
		if spent {
			return
		}
		for i, form := range forms {
			if got, _ := runAll(s, nil, form, interpreted); got != want {
				t.Fatalf("interpreted %t, form %d: %s; the rewritten module: %s", interpreted, i, got, want)
			}
		}
	}
}

// runAll calls all exports once. It tells whether the module computed for too long.
func runAll(s *Source, p *Prepared, bin []byte, interpreted bool) (outcome string, spent bool) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	rt := wazero.NewRuntimeWithConfig(ctx, differentialConfig(interpreted))
	defer rt.Close(ctx)
	yields := 0
	yield := func() int64 {
		if yields++; yields > 20 {
			panic(errSpent)
		}
		return Budget
	}
	if err := imported(ctx, rt, s, yield); err != nil {
		return "", true
	}
	var out strings.Builder
	mod, err := rt.InstantiateWithConfig(ctx, bin, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err == nil && p != nil {
		for _, d := range p.Data {
			mod.Memory().Write(d.Offset, d.Bytes)
		}
		if start := mod.ExportedFunction(Start); start != nil {
			_, err = start.Call(ctx)
		}
	}
	if err != nil {
		return "no instance", yields > 20 || overflows(err)
	}
	for _, e := range s.Exports() {
		if e.kind != kindFunc {
			continue
		}
		results, err := mod.ExportedFunction(e.Name).Call(ctx, arguments(s.m.types[s.m.typeOf(e.index)])...)
		if yields > 20 || overflows(err) {
			return "", true
		}
		fmt.Fprint(&out, e.Name, results, trapOf(err), ";")
		if hasReference(s.m.types[s.m.typeOf(e.index)].results) {
			return "", true // addresses differ
		}
	}
	if mem := mod.Memory(); mem != nil {
		view, _ := mem.Read(0, mem.Size())
		fmt.Fprintf(&out, "%d %x", mem.Size(), bytes.TrimRight(view, "\x00"))
	}
	return out.String(), false
}

// overflows tells errors that depend on the size of the code.
func overflows(err error) bool { return err != nil && strings.Contains(err.Error(), "stack overflow") }

func trapOf(err error) string {
	if err == nil {
		return ""
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}

func hasReference(types []valueType) bool {
	return slices.ContainsFunc(types, valueType.reference)
}

// arguments are some for a function.
func arguments(t funcType) []uint64 {
	var all []uint64
	for i, v := range t.params {
		switch v {
		case typeV128:
			all = append(all, uint64(i)*0x0101010101010101, 3)
		case typeFuncRef, typeExternRef:
			all = append(all, 0)
		default:
			all = append(all, uint64(i+5))
		}
	}
	return all
}

// imported makes what a module imports: functions that return zeros.
func imported(ctx context.Context, rt wazero.Runtime, s *Source, yield func() int64) error {
	builders := map[string]wazero.HostModuleBuilder{HostModule: rt.NewHostModuleBuilder(HostModule)}
	builders[HostModule].NewFunctionBuilder().WithFunc(yield).Export(Yield)
	zero := api.GoModuleFunc(func(_ context.Context, _ api.Module, stack []uint64) { clear(stack) })
	for _, i := range s.Imports() {
		t := s.m.types[i.typ]
		if slices.Contains(append(t.params, t.results...), typeV128) || i.Module == "" || i.Module == HostModule {
			return errors.New("cannot be imported")
		}
		if builders[i.Module] == nil {
			builders[i.Module] = rt.NewHostModuleBuilder(i.Module)
		}
		builders[i.Module].NewFunctionBuilder().WithGoModuleFunction(zero, apiTypes(t.params), apiTypes(t.results)).Export(i.Name)
	}
	for _, b := range builders {
		if _, err := b.Instantiate(ctx); err != nil {
			return err
		}
	}
	return nil
}

func apiTypes(types []valueType) []api.ValueType {
	var all []api.ValueType
	for _, t := range types {
		all = append(all, api.ValueType(t))
	}
	return all
}

package prepare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/kopf-wasm/kopf/host/internal/asm"
	"github.com/kopf-wasm/kopf/host/internal/wasm"
)

// specLimits let the specification's tests have what they want.
var specLimits = Limits{MemoryPages: maxPages}

// tally counts what was done and why something was not.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *tally) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[string]int{}
	}
	c.counts[what]++
}

func (c *tally) log(t *testing.T) {
	for _, what := range slices.Sorted(maps.Keys(c.counts)) {
		t.Logf("%6d %s", c.counts[what], what)
	}
}

// TestSpecification runs the specification's tests for the accepted features, of the original modules, of their
// canonical forms, and of the rewritten ones, in both engines: all do the same. A module without a memory gets one, as
// all guests have one.
func TestSpecification(t *testing.T) {
	var done tally
	t.Run("scripts", func(t *testing.T) {
		for _, file := range specFiles(t, "v2", "*.json") {
			for _, interpreted := range []bool{true, false} {
				name := fmt.Sprintf("%s, interpreted %t", filepath.Base(file), interpreted)
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					run := &specRun{T: t, dir: filepath.Dir(file), script: readScript(t, file), done: &done}
					for _, make := range []func([]byte) ([]byte, *Prepared, error){original, canonical, rewritten} {
						run.worlds = append(run.worlds, newSpecWorld(t, interpreted, make))
					}
					run.all()
				})
			}
		}
	})
	done.log(t)
	// Both engines, so each number is twice that of the specification's tests.
	for what, least := range map[string]int{"modules: run": 2_000, "calls: equal": 80_000, "invalid modules: refused": 4_000, "malformed modules: refused": 1_000} {
		if done.counts[what] < least {
			t.Errorf("%s: %d, want %d at least", what, done.counts[what], least)
		}
	}
}

// Forms of a module.
func original(bin []byte) ([]byte, *Prepared, error) { return bin, nil, nil }

func canonical(bin []byte) ([]byte, *Prepared, error) {
	p, err := prepareBy(bin, specLimits)
	if err != nil {
		return nil, nil, err
	}
	again, err := prepareBy(p.Canonical, specLimits)
	if err == nil && !bytes.Equal(p.Canonical, again.Canonical) {
		err = errors.New("the canonical form has another canonical form")
	}
	return p.Canonical, nil, err
}

func rewritten(bin []byte) ([]byte, *Prepared, error) {
	p, err := prepareBy(bin, specLimits)
	if err != nil {
		return nil, nil, err
	}
	return p.Wasm, p, nil
}

func prepareBy(bin []byte, limits Limits) (*Prepared, error) {
	s, err := Parse(bin)
	if err != nil {
		return nil, err
	}
	return s.Prepare(limits)
}

// specWorld has the modules of a script in one of their forms.
type specWorld struct {
	rt     wazero.Runtime
	make   func([]byte) ([]byte, *Prepared, error)
	last   api.Module
	byName map[string]api.Module
}

func newSpecWorld(t *testing.T, interpreted bool, make func([]byte) ([]byte, *Prepared, error)) *specWorld {
	t.Helper()
	config := wazero.NewRuntimeConfigCompiler()
	if interpreted {
		config = wazero.NewRuntimeConfigInterpreter()
	}
	ctx := context.Background()
	w := &specWorld{rt: wazero.NewRuntimeWithConfig(ctx, config.WithCoreFeatures(api.CoreFeaturesV2)), make: make, byName: map[string]api.Module{}}
	t.Cleanup(func() { w.rt.Close(ctx) })
	yield := func() int64 { return Budget }
	if _, err := w.rt.NewHostModuleBuilder(HostModule).NewFunctionBuilder().WithFunc(yield).Export(Yield).Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	host, err := os.ReadFile(filepath.Join(specFolder(t, "."), "spectest.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.rt.InstantiateWithConfig(ctx, host, wazero.NewModuleConfig()); err != nil {
		t.Fatal(err)
	}
	return w
}

// errRefused is in the errors of modules that are refused before any engine sees them.
var errRefused = errors.New("refused")

// instantiate makes an instance of a module.
func (w *specWorld) instantiate(bin []byte, registered string) (api.Module, error) {
	code, p, err := w.make(bin)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errRefused, err)
	}
	ctx := context.Background()
	if p != nil { // as the host does
		valid, err := w.rt.CompileModule(ctx, p.Canonical)
		if err != nil {
			return nil, err
		}
		defer valid.Close(ctx)
	}
	mod, err := w.rt.InstantiateWithConfig(ctx, code, wazero.NewModuleConfig().WithName(registered).WithStartFunctions())
	if err != nil || p == nil {
		return mod, err
	}
	for _, d := range p.Data {
		mod.Memory().Write(d.Offset, d.Bytes)
	}
	if start := mod.ExportedFunction(Start); start != nil {
		_, err = start.Call(ctx)
	}
	return mod, err
}

// specRun runs one script in all worlds.
type specRun struct {
	*testing.T
	dir    string
	script script
	done   *tally
	worlds []*specWorld

	incomplete bool // a module was not run, on whose state others depend
}

func (r *specRun) all() {
	for i, c := range r.script.Commands {
		switch c.Type {
		case "module":
			r.module(c, r.registeredName(i))
		case "assert_return", "assert_trap", "assert_exhaustion", "action":
			r.call(c)
		case "assert_invalid", "assert_malformed", "assert_unlinkable", "assert_uninstantiable":
			if c.ModuleType == "binary" {
				r.refused(c)
			}
		}
	}
}

// registeredName is the name under which others import the module of a command; empty if none do.
func (r *specRun) registeredName(i int) string {
	name := r.script.Commands[i].Name
	for j, c := range r.script.Commands[i+1:] {
		if c.Type == "register" && (c.Name == "" && j == 0 || c.Name != "" && c.Name == name) {
			return c.As
		}
	}
	return ""
}

func (r *specRun) read(c specCommand) []byte {
	bin, err := os.ReadFile(filepath.Join(r.dir, c.Filename))
	if err != nil {
		r.Fatal(err)
	}
	return bin
}

// module makes instances in all worlds, or in none, if it is refused for a known reason.
func (r *specRun) module(c specCommand, registered string) {
	bin := withMemory(r.read(c))
	for _, w := range r.worlds {
		w.last = nil
	}
	if reason := refusal(bin); reason != "" {
		if !slices.ContainsFunc(knownRefusals, func(known string) bool { return strings.HasPrefix(reason, known) }) {
			r.Errorf("line %d is refused: %s", c.Line, reason)
		}
		r.done.add("modules: not run: " + reason)
		r.incomplete = true
		r.forget(c)
		return
	}
	for i, w := range r.worlds {
		mod, err := w.instantiate(bin, registered)
		if err != nil {
			r.linkless(c, i, err)
			return
		}
		w.last = mod
		if c.Name != "" {
			w.byName[c.Name] = mod
		}
	}
	r.done.add("modules: run")
}

// linkless passes over a module that imports from one which was refused.
func (r *specRun) linkless(c specCommand, world int, err error) {
	if world > 0 || !strings.Contains(err.Error(), "not instantiated") {
		r.Errorf("line %d, world %d: %v", c.Line, world, err)
	}
	r.done.add("modules: not run: they import from a module that was refused")
	r.forget(c)
}

// forget lets calls of a module be passed over.
func (r *specRun) forget(c specCommand) {
	for _, w := range r.worlds {
		w.last = nil
		delete(w.byName, c.Name)
	}
}

// refusal is why a valid module is not accepted; empty if it is.
func refusal(bin []byte) string {
	_, _, err := rewritten(bin)
	switch {
	case err == nil:
		return ""
	case strings.Contains(err.Error(), "over-long"):
		return "over-long numbers"
	case errors.Is(err, ErrFeature):
		what, _, _ := strings.Cut(err.Error()[strings.Index(err.Error(), ErrFeature.Error())+len(ErrFeature.Error())+2:], ":")
		return what
	case errors.Is(err, ErrLimit):
		return "over a limit"
	}
	return err.Error()
}

// knownRefusals are all reasons to refuse modules that are valid.
var knownRefusals = []string{"over-long numbers", "over a limit", "import of a "}

// call compares what an action does in all worlds.
func (r *specRun) call(c specCommand) {
	var first string
	for i, w := range r.worlds {
		m := w.last
		if c.Action.Module != "" {
			m = w.byName[c.Action.Module]
		}
		if m == nil {
			r.done.add("calls: not run: their module is not")
			return
		}
		got := r.outcome(m, c)
		if i == 0 {
			first = got
		}
		if got != first {
			r.Errorf("line %d, world %d: %s, the original: %s", c.Line, i, got, first)
			return
		}
	}
	if trapped := strings.HasPrefix(first, "trap"); !r.incomplete && trapped != (c.Type == "assert_trap" || c.Type == "assert_exhaustion") {
		r.Errorf("line %d: %s, but it is %s", c.Line, first, c.Type)
	}
	r.done.add("calls: equal")
}

// outcome is what an action does: values or a trap.
func (r *specRun) outcome(m api.Module, c specCommand) string {
	if c.Action.Type == "get" {
		return fmt.Sprint(m.ExportedGlobal(c.Action.Field).Get())
	}
	results, err := m.ExportedFunction(c.Action.Field).Call(context.Background(), words(r, c.Action.Args)...)
	if err != nil {
		what, _, _ := strings.Cut(err.Error(), "\n")
		return "trap: " + what
	}
	return fmt.Sprint(results)
}

// refused: a module that is invalid, or cannot be linked, is refused by us or by the engine, in all forms.
func (r *specRun) refused(c specCommand) {
	bin := r.read(c)
	kind := strings.TrimPrefix(c.Type, "assert_")
	if reason := refusal(bin); reason != "" && (kind == "unlinkable" || kind == "uninstantiable") {
		r.done.add(kind + " modules: not run: " + reason) // running the original only would change what it imports
		r.incomplete = true
		return
	}
	if larger := withMemory(bin); kind == "invalid" && !r.accepted(larger) {
		bin = larger // so that it is not refused for the lack of a memory
	}
	for i, w := range r.worlds {
		_, err := w.instantiate(bin, "")
		if i == 0 && err == nil {
			r.done.add(kind + " modules: accepted by the engine itself")
			continue
		}
		if err == nil {
			r.Errorf("line %d, world %d: an %s module is accepted", c.Line, i, kind)
		}
		if i == 2 && errors.Is(err, errRefused) {
			r.done.add(kind + " modules: refused before the engine sees them")
		}
	}
	r.done.add(kind + " modules: refused")
}

// accepted tells whether the engine accepts a module.
func (r *specRun) accepted(bin []byte) bool {
	compiled, err := r.worlds[0].rt.CompileModule(context.Background(), bin)
	if err == nil {
		compiled.Close(context.Background())
	}
	return err == nil
}

// withMemory adds a memory to a module without one.
func withMemory(bin []byte) []byte {
	m, _, err := parse(bin)
	if err != nil || m.count[kindMemory] > 0 {
		return bin
	}
	out, done := []byte(wasm.Magic), false
	memory := func() {
		if !done {
			out, done = append(out, asm.Section(wasm.SectionMemory, []byte{1, 0, 0})...), true
		}
	}
	_ = wasm.Sections(bin, func(s wasm.Section, r *wasm.Reader) error {
		if s.ID > wasm.SectionMemory {
			memory()
		}
		if s.ID != wasm.SectionMemory { // it is empty
			out = append(out, bin[s.Begin:s.End]...)
		}
		r.Pos = s.End
		return nil
	})
	memory()
	return out
}

// TestOtherProposalsAreRefused: modules of the specification's tests for features that are not accepted are refused,
// and the error names the feature. The engine has most of these features, switched off.
func TestOtherProposalsAreRefused(t *testing.T) {
	for folder, names := range map[string][]string{
		"exception-handling":        {"exceptions", "garbage collection", "typed function references", "tail calls"},
		"extended-const":            {"extended constant expressions", "global.get in a constant expression"},
		"tail-call":                 {"tail calls"},
		"threads":                   {"threads"},
		"typed-function-references": {"typed function references", "garbage collection", "tail calls", "global.get in a constant expression"},
	} {
		var done tally
		for _, file := range specFiles(t, folder, "*.json") {
			for _, c := range readScript(t, file).Commands {
				if c.Type != "module" {
					continue
				}
				bin, err := os.ReadFile(filepath.Join(filepath.Dir(file), c.Filename))
				if err != nil {
					t.Fatal(err)
				}
				done.add(folder + ": " + proposalRefusal(t, file, c.Line, withMemory(bin), names))
			}
		}
		done.log(t)
	}
}

// proposalRefusal is why a module is refused, if the engine would refuse it as well.
func proposalRefusal(t *testing.T, file string, line int, bin []byte, names []string) string {
	t.Helper()
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(api.CoreFeaturesV2))
	defer rt.Close(ctx)
	_, engine := rt.CompileModule(ctx, bin)
	reason := refusal(bin)
	switch {
	case engine == nil:
		return "without the feature"
	case reason == "":
		t.Errorf("%s:%d is accepted, but not by the engine: %v", filepath.Base(file), line, engine)
	case !slices.ContainsFunc(append(names, knownRefusals...), func(name string) bool { return strings.Contains(reason, name) }):
		t.Errorf("%s:%d: %q does not name the feature; the engine: %v", filepath.Base(file), line, reason, engine)
	}
	return "refused"
}

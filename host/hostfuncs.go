package host

import (
	"context"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/kopf-wasm/kopf/host/prepare"
)

// instantiateHost makes the host functions that a module imports importable in its runtime,
// and returns what the caller closes after the runtime. The functions find the running call
// in the context that wazero passes: one closure per instance would cost more than the
// instance.
func instantiateHost(ctx context.Context, rt wazero.Runtime, imports []Function) (hosts []wazero.CompiledModule, err error) {
	config := wazero.NewModuleConfig().WithRandSource(noRandom{}).WithStartFunctions()
	for name, b := range hostModules(rt, imports) {
		compiled, err := b.Compile(ctx)
		if err == nil {
			hosts = append(hosts, compiled)
			_, err = rt.InstantiateModule(ctx, compiled, config)
		}
		if err != nil {
			return hosts, fmt.Errorf("host module %s: %w", name, err)
		}
	}
	return hosts, nil
}

// hostModules returns the host modules, by their names, with the functions that a module
// imports, and with the function that rewritten code calls.
func hostModules(rt wazero.Runtime, imports []Function) map[string]wazero.HostModuleBuilder {
	builders := map[string]wazero.HostModuleBuilder{prepare.HostModule: rt.NewHostModuleBuilder(prepare.HostModule)}
	builders[prepare.HostModule].NewFunctionBuilder().
		WithGoFunction(api.GoFunc(func(ctx context.Context, stack []uint64) {
			stack[0] = uint64(callOf(ctx).yield())
		}), nil, []api.ValueType{api.ValueTypeI64}).
		WithName("yield").
		Export(prepare.Yield)
	done := map[[2]string]bool{} // a module may import a function several times
	for _, imported := range imports {
		key := [2]string{imported.Module, imported.Name}
		f, ok := hostFunctions[key]
		if !ok || done[key] { // without a function, the engine refuses the module
			continue
		}
		done[key] = true
		if builders[imported.Module] == nil {
			builders[imported.Module] = rt.NewHostModuleBuilder(imported.Module)
		}
		params, results := wazeroTypes(f.Type)
		light := isLight(imported.Module, imported.Name)
		builders[imported.Module].NewFunctionBuilder().
			WithGoFunction(api.GoFunc(func(ctx context.Context, stack []uint64) {
				c := callOf(ctx)
				if c.enter(light) {
					c.count()
				}
				f.Do(c, stack)
			}), params, results).
			WithName(imported.Module + "." + imported.Name).
			Export(imported.Name)
	}
	return builders
}

// wazeroTypes parses a type in the notation of prepare.
func wazeroTypes(typ string) (params, results []api.ValueType) {
	before, after, _ := strings.Cut(typ, " -> ")
	return valueTypes(before), valueTypes(after)
}

func valueTypes(list string) []api.ValueType {
	var types []api.ValueType
	for name := range strings.SplitSeq(strings.Trim(list, "()"), ", ") {
		switch name {
		case "i32":
			types = append(types, api.ValueTypeI32)
		case "i64":
			types = append(types, api.ValueTypeI64)
		}
	}
	return types
}

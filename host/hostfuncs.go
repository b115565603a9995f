package host

import (
	"context"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/kopf-wasm/kopf/host/prepare"
)

// instantiateHost makes the host functions importable in a runtime. They are compiled once
// for all instances, and find the running call in the context that wazero passes. One
// closure per instance would cost more than the instance.
func instantiateHost(ctx context.Context, rt wazero.Runtime) error {
	builders := map[string]wazero.HostModuleBuilder{}
	for key, f := range hostFunctions {
		if builders[key[0]] == nil {
			builders[key[0]] = rt.NewHostModuleBuilder(key[0])
		}
		params, results := wazeroTypes(f.Type)
		builders[key[0]].NewFunctionBuilder().
			WithGoFunction(api.GoFunc(func(ctx context.Context, stack []uint64) {
				c := callOf(ctx)
				c.enter()
				f.Do(c, stack)
			}), params, results).
			WithName(key[0] + "." + key[1]).
			Export(key[1])
	}
	builders[prepare.HostModule] = rt.NewHostModuleBuilder(prepare.HostModule)
	builders[prepare.HostModule].NewFunctionBuilder().
		WithGoFunction(api.GoFunc(func(ctx context.Context, stack []uint64) {
			stack[0] = uint64(callOf(ctx).yield())
		}), nil, []api.ValueType{api.ValueTypeI64}).
		WithName("yield").
		Export(prepare.Yield)
	for name, b := range builders {
		if _, err := b.Instantiate(ctx); err != nil {
			return fmt.Errorf("host module %s: %w", name, err)
		}
	}
	return nil
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

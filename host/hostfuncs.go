package host

import (
	"context"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/prepare"
)

// hostFunction is one function that guests may import: its type, in the notation of prepare,
// and its implementation. The arguments are in the stack, and the result goes to stack[0].
type hostFunction struct {
	typ string
	do  func(c *call, stack []uint64)
}

// hostFunctions holds all host functions by module and name. See abi/SPEC.md, "Host
// functions".
var hostFunctions = buildHostFunctions()

func buildHostFunctions() map[[2]string]hostFunction {
	all := map[[2]string]hostFunction{
		{abi.ImportModule, abi.ImportLog}:     {"(i32, i32, i32, i32) -> ()", hostLog},
		{abi.ImportModule, abi.ImportSegment}: {"(i32, i32, i32, i32) -> i64", hostSegment},
		{abi.ImportModule, abi.ImportStopped}: {"(i32) -> i32", hostStopped},
		{abi.ImportModule, abi.ImportConfig}:  {"(i32, i32, i32, i32) -> i64", hostConfig},
		{abi.ImportModule, abi.ImportRandom}:  {"(i32, i32) -> i32", hostRandom},
		{abi.ImportModule, abi.ImportEvent}:   {"(i32, i32, i32) -> i32", hostEvent},
		{abi.ImportModule, abi.ImportMemoGet}: {"(i32, i32, i32, i32, i32, i32) -> i64", hostMemoGet},
		{abi.ImportModule, abi.ImportMemoSet}: {"(i32, i32, i32, i32, i32, i32, i64) -> i64", hostMemoSet},
		{abi.ImportModule, abi.ImportIndex}:   {"(i32, i32, i32, i32, i32, i32, i32, i32) -> i64", hostIndex},
	}
	for module, functions := range map[string]map[string]hostFunction{
		wasiModule: wasiFunctions, pluginEnv: kernelFunctions, pluginUser: pluginFunctions,
	} {
		for name, f := range functions {
			all[[2]string{module, name}] = f
		}
	}
	return all
}

// instantiateHost makes the host functions importable in a runtime. They are compiled once
// for all instances, and find the running call in the context that wazero passes. One
// closure per instance would cost more than the instance.
func instantiateHost(ctx context.Context, rt wazero.Runtime) error {
	builders := map[string]wazero.HostModuleBuilder{}
	for key, f := range hostFunctions {
		if builders[key[0]] == nil {
			builders[key[0]] = rt.NewHostModuleBuilder(key[0])
		}
		params, results := wazeroTypes(f.typ)
		builders[key[0]].NewFunctionBuilder().
			WithGoFunction(api.GoFunc(func(ctx context.Context, stack []uint64) {
				c := callOf(ctx)
				c.enter()
				f.do(c, stack)
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

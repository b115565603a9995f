package host

import (
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/guests"
	"github.com/kopf-wasm/kopf/host/guests/extism"
	"github.com/kopf-wasm/kopf/host/guests/standard"
	"github.com/kopf-wasm/kopf/host/imports"
	"github.com/kopf-wasm/kopf/host/prepare"
	"github.com/kopf-wasm/kopf/host/wasi"
)

// The engine knows the kinds of modules only here. See connect.go for native programs.

// Kind is the kind of guests that a module belongs to.
type Kind string

// Kinds of guests. Each is a package below host/guests.
const (
	KindStandard Kind = "standard" // made with an SDK of Kopf
	KindExtism   Kind = "extism"   // made with a plugin development kit of Extism
	KindNative   Kind = "native"   // a program of the operating system
)

// What the kinds need of a call.
var (
	_ guests.Call     = (*call)(nil)
	_ wasi.Process    = (*process)(nil)
	_ standard.Caller = (*call)(nil)
	_ extism.Caller   = waiter{}
)

// kind is what the engine uses of a kind of modules.
type kind struct {
	name Kind

	// check refuses a module that does not fit this host.
	check func(source *prepare.Source) error

	// guests returns the constructor of the guest of each instance of a module.
	guests func(o *Options) func() guests.Guest
}

var (
	standardKind = kind{KindStandard, standard.Check, func(o *Options) func() guests.Guest {
		shared := standard.New(o.MessageLimit)
		return func() guests.Guest { return shared }
	}}
	extismKind = kind{KindExtism, extism.Check, func(o *Options) func() guests.Guest {
		limits := extism.Limits{Message: o.MessageLimit, Variables: o.PluginVariables, Response: o.PluginResponse, Memory: o.Memories}
		return func() guests.Guest { return extism.New(limits) }
	}}
)

// kindOf returns the kind of a module, by its imports and exports.
func kindOf(source *prepare.Source) kind {
	if extism.Is(source) {
		return extismKind
	}
	return standardKind
}

// hostFunction is a function that guests may import.
type hostFunction = imports.Function[*call]

// isLight reports whether a function takes about as long as its call, whatever its arguments are. Plugins call some of
// their kits for each word of a message; others clear or copy blocks of megabytes.
func isLight(module, name string) bool {
	switch module {
	case extism.EnvModule:
		of, _, _ := strings.Cut(name, "_")
		return slices.Contains([]string{"input", "length", "load", "store", "output", "error"}, of)
	case wasi.Module:
		return name != "fd_write" && name != "random_get"
	}
	return false
}

// hostFunctions holds all host functions by module and name. See abi/SPEC.md, "Host
// functions".
var hostFunctions = buildHostFunctions()

func buildHostFunctions() map[[2]string]hostFunction {
	all := map[[2]string]hostFunction{}
	for name, f := range wasi.Functions {
		all[[2]string{wasi.Module, name}] = imports.Func(f.Type, func(c *call, stack []uint64) { f.Do((*process)(c), stack) })
	}
	for name, f := range standard.Functions {
		all[[2]string{abi.ImportModule, name}] = imports.Func(f.Type, func(c *call, stack []uint64) { f.Do(c, stack) })
	}
	for name, f := range extism.EnvFunctions {
		all[[2]string{extism.EnvModule, name}] = imports.Func(f.Type, func(c *call, stack []uint64) { f.Do(waiter{c}, stack) })
	}
	for name, f := range extism.UserFunctions {
		all[[2]string{extism.UserModule, name}] = imports.Func(f.Type, func(c *call, stack []uint64) { f.Do(waiter{c}, stack) })
	}
	return all
}

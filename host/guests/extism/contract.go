package extism

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/imports"
	"github.com/kopf-wasm/kopf/host/prepare"
	"github.com/kopf-wasm/kopf/host/wasi"
)

// Modules of the functions that plugins import.
const (
	EnvModule  = "extism:host/env"
	UserModule = "extism:host/user"
)

// typeNothing is the type of the export that marks a guest of another kind.
const typeNothing = "() -> ()"

// types lists the types that functions of plugins may have.
var types = []string{"() -> i32", typeNothing}

// contract lists the exports of a plugin, as those of other guests.
var contract = []struct {
	name     string
	required bool
}{
	{abi.ExportRegister, true},
	{abi.ExportStart, true},
	{abi.ExportResume, false},
	{abi.ExportCancel, false},
	{abi.ExportRelease, false},
	{abi.ExportAsk, false},
	{abi.ExportTransform, false},
}

// Is reports whether a module is an Extism plugin: it imports Extism's functions, or
// its exports have the types of plugin functions.
func Is(source *prepare.Source) bool {
	for _, e := range source.Exports() {
		if _, ok := abi.VersionOfExport(e.Name); ok && e.Type == typeNothing {
			return false
		}
		if e.Name == abi.ExportRegister && slices.Contains(types, e.Type) {
			return true
		}
	}
	return slices.ContainsFunc(source.Imports(), func(i prepare.Import) bool { return i.Module == EnvModule })
}

// provided lists the functions that plugins may import.
var provided = imports.Add(imports.Add(imports.Add(imports.Types{}, EnvModule, EnvFunctions), UserModule, UserFunctions), wasi.Module, wasi.Functions)

// Check refuses a plugin that does not fit this host.
func Check(source *prepare.Source) error {
	exports := map[string]string{}
	var functions []string
	for _, e := range source.Exports() {
		exports[e.Name] = e.Type
		if slices.Contains(types, e.Type) {
			functions = append(functions, e.Name)
		}
	}
	if exports[abi.ExportMemory] != "memory" {
		return fmt.Errorf("it does not export its memory")
	}
	for _, c := range contract {
		switch found, ok := exports[c.name]; {
		case !ok && c.required:
			return fmt.Errorf("it is a plugin of Extism, but not a Kopf guest: it exports %s, but not %s",
				strings.Join(slices.Concat(functions, []string{"no more"}), ", "), c.name)
		case ok && !slices.Contains(types, found):
			return fmt.Errorf("its export %s has the type %s instead of %s", c.name, found, types[0])
		}
	}
	return provided.Check(source.Imports())
}

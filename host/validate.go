package host

import (
	"fmt"
	"slices"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/prepare"
)

// Types of exports and host functions, in the notation of prepare.
const (
	typeNothing = "() -> ()"
	typeTask    = "(i32) -> ()"
	typeAlloc   = "(i32) -> i32"
	typeMessage = "(i32, i32) -> i64"
	typeCall    = "(i32, i32, i32) -> i64"
)

// contract lists the exports of a guest. See abi/SPEC.md, "Exports".
var contract = []struct {
	name, typ string
	required  bool
}{
	{abi.ExportMemory, "memory", true},
	{abi.ExportAlloc, typeAlloc, true},
	{abi.ExportRegister, typeMessage, true},
	{abi.ExportStart, typeCall, true},
	{abi.ExportResume, typeCall, false},
	{abi.ExportCancel, typeTask, false},
	{abi.ExportRelease, typeTask, false},
	{abi.ExportAsk, typeCall, false},
	{abi.ExportTransform, typeCall, false},
	{abi.ExportInitialize, typeNothing, false},
}

// checkContract refuses a module that is not a guest of this host, before its code runs.
func checkContract(source *prepare.Source) error {
	if isPlugin(source) {
		return checkPlugin(source)
	}
	exports := make(map[string]string, len(source.Exports()))
	for _, e := range source.Exports() {
		exports[e.Name] = e.Type
	}
	if err := checkVersion(source.Exports()); err != nil {
		return err
	}
	if _, command := exports["_start"]; command {
		return fmt.Errorf("it exports _start, so it is a program, not a reactor (in Go: build with -buildmode=c-shared)")
	}
	for _, c := range contract {
		switch found, ok := exports[c.name]; {
		case !ok && c.required:
			return fmt.Errorf("it does not export %s", c.name)
		case ok && found != c.typ:
			return fmt.Errorf("its export %s has the type %s instead of %s", c.name, found, c.typ)
		}
	}
	return checkImports(source.Imports(), abi.ImportModule, wasiModule)
}

// checkVersion refuses a module without the export that marks the ABI version.
func checkVersion(exports []prepare.Export) error {
	newest := 0
	for _, e := range exports {
		version, ok := abi.VersionOfExport(e.Name)
		if !ok {
			continue
		}
		if version == abi.Version {
			if e.Type != typeNothing {
				return fmt.Errorf("its export %s has the type %s instead of %s", e.Name, e.Type, typeNothing)
			}
			return nil
		}
		newest = max(newest, version)
	}
	if newest > abi.Version {
		return fmt.Errorf("it speaks version %d of the ABI, this host only up to %d: a newer host is needed", newest, abi.Version)
	}
	return fmt.Errorf("it is no Kopf guest: it does not export %s%d, as all that is built with an SDK does (in Go: with GOOS=wasip1 and -buildmode=c-shared)", abi.ExportVersion, abi.Version)
}

// checkImports refuses imports that none of the modules provides.
func checkImports(imports []prepare.Import, modules ...string) error {
	for _, i := range imports {
		f, ok := hostFunctions[[2]string{i.Module, i.Name}]
		switch {
		case !ok || !slices.Contains(modules, i.Module):
			return fmt.Errorf("it imports %s.%s, which this host does not provide", i.Module, i.Name)
		case f.typ != i.Type:
			return fmt.Errorf("its import %s.%s has the type %s instead of %s", i.Module, i.Name, i.Type, f.typ)
		}
	}
	return nil
}

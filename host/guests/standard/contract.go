package standard

import (
	"fmt"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/imports"
	"github.com/kopf-wasm/kopf/host/prepare"
	"github.com/kopf-wasm/kopf/host/wasi"
)

// Types of exports, in the notation of package prepare.
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

// provided lists the functions that guests may import.
var provided = imports.Add(imports.Add(imports.Types{}, abi.ImportModule, Functions), wasi.Module, wasi.Functions)

// Check refuses a module that is not a guest of this host, before its code runs.
func Check(source *prepare.Source) error {
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
	return provided.Check(source.Imports())
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
	return fmt.Errorf("it is not a Kopf guest: it does not export %s%d; build it with an SDK (in Go: with GOOS=wasip1 and -buildmode=c-shared; in Rust: with kopf::operator!)", abi.ExportVersion, abi.Version)
}

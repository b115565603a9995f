package host

import (
	"fmt"
	"slices"

	"github.com/kopf-wasm/kopf/host/configuration"
	"github.com/kopf-wasm/kopf/host/declaration"
	"github.com/kopf-wasm/kopf/host/files"
	"github.com/kopf-wasm/kopf/host/prepare"
	"github.com/kopf-wasm/kopf/internal/legible"
)

// Description holds the facts about a module that are known without running its code.
type Description struct {
	Imports  []Function
	Declared *declaration.Declaration // nil: no declaration
	Config   map[string]string        // embedded in the module
	Files    *files.Set               // embedded in the module; nil: none
}

// Describe reads the imports and the declaration of a WebAssembly file, and compares
// the declaration with the imports. Like Load, it refuses a file that is not a guest. It
// compiles nothing.
//
// Errors: ErrModule.
func Describe(wasm []byte) (*Description, error) {
	source, err := prepare.Parse(wasm)
	if err == nil {
		err = kindOf(source).check(source)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModule, legible.Error(err))
	}
	d := &Description{}
	d.Imports, _ = functionsOf(source)
	if d.Declared, err = declaration.Read(wasm); err == nil && d.Declared != nil {
		err = d.Declared.CheckImports(FullNames(d.Imports))
	}
	if err == nil {
		d.Config, err = configuration.Read(wasm)
	}
	if err == nil {
		d.Files, err = files.Read(wasm)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModule, legible.Error(err))
	}
	return d, nil
}

// FullNames returns the names of functions in the form of a declaration: MODULE.NAME,
// sorted, without duplicates.
func FullNames(imports []Function) []string {
	names := make([]string, 0, len(imports))
	for _, f := range imports {
		names = append(names, f.Module+"."+f.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// functionsOf copies the imports and exports of a source.
func functionsOf(source *prepare.Source) (imports, exports []Function) {
	for _, in := range source.Imports() {
		imports = append(imports, Function{Module: in.Module, Name: in.Name, Type: in.Type})
	}
	for _, ex := range source.Exports() {
		exports = append(exports, Function{Name: ex.Name, Type: ex.Type})
	}
	return imports, exports
}

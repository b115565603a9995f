package host

import (
	"fmt"

	"github.com/kopf-wasm/kopf/host/prepare"
)

// Description is what can be told about a module without running any of its code.
type Description struct {
	Imports, Exports []Function
}

// Describe reads what the bytes of a WebAssembly file import and export, and
// refuses what is no guest, as Load does. Nothing is compiled.
//
// Errors: ErrModule.
func Describe(wasm []byte) (*Description, error) {
	source, err := prepare.Parse(wasm)
	if err == nil {
		err = checkContract(source)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModule, err)
	}
	d := &Description{}
	d.Imports, d.Exports = functionsOf(source)
	return d, nil
}

// functionsOf copies what is told about a source.
func functionsOf(source *prepare.Source) (imports, exports []Function) {
	for _, in := range source.Imports() {
		imports = append(imports, Function{Module: in.Module, Name: in.Name, Type: in.Type})
	}
	for _, ex := range source.Exports() {
		exports = append(exports, Function{Name: ex.Name, Type: ex.Type})
	}
	return imports, exports
}

package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/kopf-wasm/kopf/host/declaration"
	"github.com/kopf-wasm/kopf/host/prepare"
)

// Declare returns the module with a declaration of what it registers with the configuration
// of the options. The declaration replaces an existing one. Declare loads the module.
//
// Errors: those of Load.
func Declare(ctx context.Context, name string, wasm []byte, o Options, dynamic bool, annotations map[string]string) ([]byte, error) {
	if _, err := prepare.Parse(wasm); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", name, ErrModule, err)
	}
	bare, err := declaration.Remove(wasm)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", name, ErrModule, err)
	}
	m, err := Load(ctx, name, bare, o)
	if err != nil {
		return nil, err
	}
	declared, err := declaration.Embed(bare, &declaration.Declaration{
		Version: declaration.Version, Dynamic: dynamic, Imports: FullNames(m.imports), Registration: m.registered, Annotations: annotations,
	})
	return declared, errors.Join(err, m.Close(ctx))
}

// Declared returns the module with a valid declaration: the existing one, if the module
// registers what it declares, or else a new one for a module without a declaration.
//
// Errors: those of Load; they wrap declaration.ErrMismatch if the existing declaration is
// wrong.
func Declared(ctx context.Context, name string, wasm []byte, o Options) ([]byte, *declaration.Declaration, error) {
	if _, err := prepare.Parse(wasm); err != nil {
		return nil, nil, fmt.Errorf("%s: %w: %w", name, ErrModule, err)
	}
	d, err := declaration.Read(wasm)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w: %w", name, ErrModule, err)
	}
	if d == nil {
		if wasm, err = Declare(ctx, name, wasm, o, false, nil); err != nil {
			return nil, nil, err
		}
		d, err = declaration.Read(wasm)
		return wasm, d, err
	}
	m, err := Load(ctx, name, wasm, o)
	if err != nil {
		return nil, nil, err
	}
	return wasm, d, m.Close(ctx)
}

package operator

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/operator/manifests"
)

// loadOne loads a module by its name, or the one that a manifest names.
func loadOne(ctx context.Context, open Opener, name string, o host.Options) (*host.Module, error) {
	label, wasm, err := open(ctx, name)
	if err != nil {
		return nil, err
	}
	if manifests.Is(name) && !bytes.HasPrefix(wasm, []byte("\x00asm")) {
		if wasm, err = fromManifest(ctx, open, name, wasm, &o); err != nil {
			return nil, fmt.Errorf("%s: %w", label, err)
		}
	}
	return host.Load(ctx, label, wasm, o)
}

// fromManifest gets the module of a manifest, and narrows the options as it says.
// What is configured otherwise goes before what it configures.
func fromManifest(ctx context.Context, open Opener, path string, text []byte, o *host.Options) ([]byte, error) {
	m, err := manifests.Parse(path, text)
	if err != nil {
		return nil, err
	}
	config := maps.Clone(m.Config)
	if config == nil {
		config = map[string]string{}
	}
	maps.Copy(config, o.Config)
	o.Config, o.WantsHosts = config, m.AllowedHosts
	narrow(&o.MaxMemory, int(m.Memory.MaxPages<<16))
	narrow(&o.PluginVariables, int(m.Memory.MaxVarBytes))
	narrow(&o.PluginResponse, int(m.Memory.MaxHTTPResponseBytes))
	narrow(&o.ComputeLimit, time.Duration(m.TimeoutMS)*time.Millisecond)
	return m.Module(path, func(path string) ([]byte, error) {
		_, wasm, err := open(ctx, path)
		return wasm, err
	})
}

// narrow lowers a limit; 0 leaves it, and is the default of an option.
func narrow[N int | time.Duration](limit *N, to N) {
	if to > 0 && (*limit == 0 || to < *limit) {
		*limit = to
	}
}

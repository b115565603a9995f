package operator

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/operator/manifests"
	"github.com/kopf-wasm/kopf/operator/scripts"
)

// Opener reads a module by its name, and returns the name for messages with it.
type Opener func(ctx context.Context, name string) (label string, wasm []byte, err error)

// Files is the Opener that reads files.
func Files(_ context.Context, path string) (string, []byte, error) {
	data, err := os.ReadFile(path)
	return filepath.Base(path), data, err
}

// Source is where modules come from. The zero Source are files.
type Source struct {
	Open   Opener // nil: Files
	Engine string // the module that runs scripts, a name for Open; empty: see package operator/scripts
}

// Load loads modules from files, and closes all of them if one cannot be loaded.
func Load(ctx context.Context, paths []string, o host.Options) ([]*host.Module, error) {
	return LoadFrom(ctx, Source{}, paths, o)
}

// LoadFrom loads modules from wherever they come from.
func LoadFrom(ctx context.Context, from Source, names []string, o host.Options) ([]*host.Module, error) {
	if from.Open == nil {
		from.Open = Files
	}
	var modules []*host.Module
	for _, name := range names {
		module, err := from.load(ctx, name, o)
		if err != nil {
			for _, loaded := range modules {
				_ = loaded.Close(ctx) // the first error is the one to tell
			}
			return nil, err
		}
		modules = append(modules, module)
	}
	debug.FreeOSMemory() // loading takes several times the size of the modules, serving does not
	return modules, nil
}

// load loads a module by its name, or what a manifest or a script by this name needs.
func (s Source) load(ctx context.Context, name string, o host.Options) (*host.Module, error) {
	label, wasm, err := s.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(wasm, []byte("\x00asm")):
	case scripts.Is(name):
		wasm, err = s.engine(ctx, name, wasm, &o)
	case manifests.Is(name):
		if wasm, err = fromManifest(ctx, s.Open, name, wasm, &o); err != nil {
			err = fmt.Errorf("%s: %w", label, err)
		}
	}
	if err != nil {
		return nil, err
	}
	return host.Load(ctx, label, wasm, o)
}

// engine gets the module that runs a script, and configures it.
func (s Source) engine(ctx context.Context, script string, text []byte, o *host.Options) ([]byte, error) {
	name, err := scripts.Engine(script, s.Engine)
	if err != nil {
		return nil, err
	}
	_, wasm, err := s.Open(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("the engine for %s: %w", script, err)
	}
	config := maps.Clone(o.Config)
	if config == nil {
		config = map[string]string{}
	}
	maps.Copy(config, scripts.Config(script, text))
	o.Config = config
	return wasm, nil
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

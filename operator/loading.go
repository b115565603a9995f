package operator

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"runtime/debug"
	"time"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/operator/manifests"
)

// Load loads modules from files, and closes all of them if one cannot be loaded.
func Load(ctx context.Context, paths []string, o host.Options) ([]*host.Module, error) {
	return LoadFrom(ctx, Files, paths, o)
}

// LoadFrom loads modules from wherever the opener finds them; nil: files.
func LoadFrom(ctx context.Context, open Opener, names []string, o host.Options) ([]*host.Module, error) {
	loaded, err := loadAll(ctx, open, names, o, nil)
	return modulesOf(loaded), err
}

// loaded is a module with the bytes that it comes from.
type loaded struct {
	module *host.Module
	sum    [sha256.Size]byte
}

func modulesOf(all []loaded) []*host.Module {
	modules := make([]*host.Module, len(all))
	for i, l := range all {
		modules[i] = l.module
	}
	return modules
}

// loadAll loads modules. Those whose bytes are the same as before are taken over; the
// others are closed if one cannot be loaded.
func loadAll(ctx context.Context, open Opener, names []string, o host.Options, before []loaded) ([]loaded, error) {
	if open == nil {
		open = Files
	}
	var all, fresh []loaded
	for i, name := range names {
		src, err := read(ctx, open, name, o)
		if err == nil && len(before) > 0 && before[i].sum == src.sum {
			all = append(all, before[i])
			continue
		}
		var module *host.Module
		if err == nil {
			module, err = host.Load(ctx, src.label, src.wasm, src.options)
		}
		if err != nil {
			for _, l := range fresh {
				_ = l.module.Close(ctx) // the first error is the one to tell
			}
			return nil, err
		}
		all, fresh = append(all, loaded{module, src.sum}), append(fresh, loaded{module, src.sum})
	}
	debug.FreeOSMemory() // loading takes several times the size of the modules, serving does not
	return all, nil
}

// source is what a module is loaded from.
type source struct {
	label   string
	wasm    []byte
	options host.Options
	sum     [sha256.Size]byte // of all bytes
}

// read reads a module by its name, or the one that a manifest names.
func read(ctx context.Context, open Opener, name string, o host.Options) (*source, error) {
	label, wasm, err := open(ctx, name)
	if err != nil {
		return nil, err
	}
	src := &source{label: label, wasm: wasm, options: o}
	hash := sha256.New()
	hash.Write(wasm)
	if manifests.Is(name) && !bytes.HasPrefix(wasm, []byte("\x00asm")) {
		if src.wasm, err = fromManifest(ctx, open, name, wasm, &src.options); err != nil {
			return nil, fmt.Errorf("%s: %w", label, err)
		}
		hash.Write(src.wasm)
	}
	hash.Sum(src.sum[:0])
	return src, nil
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

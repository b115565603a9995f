package operator

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
	"github.com/kopf-wasm/kopf/internal/durations"
	"github.com/kopf-wasm/kopf/operator/manifests"
	"github.com/kopf-wasm/kopf/operator/scripts"
)

// Opener reads a module by its name. The label is the module's name in messages.
type Opener func(ctx context.Context, name string) (label string, wasm []byte, err error)

// Files is the Opener that reads files.
func Files(_ context.Context, path string) (string, []byte, error) {
	data, err := boundedfile.Read(path, boundedfile.MaxModule)
	return filepath.Base(path), data, err
}

// Source is where modules come from. The zero Source reads files.
type Source struct {
	Open   Opener // nil: Files
	Engine string // the module that runs scripts, a name for Open; empty: found as package operator/scripts describes
	Python Python // what scripts in Python import

	log *zerolog.Logger // the operator's logger for the output of guests; may be nil
}

// open reads the content behind a name.
func (s Source) open(ctx context.Context, name string) (label string, data []byte, err error) {
	if s.Open == nil {
		return Files(ctx, name)
	}
	return s.Open(ctx, name)
}

// source returns the Source of the operator's modules.
func (o *Options) source() Source {
	return Source{Open: o.Open, Engine: o.Engine, Python: o.Python, log: &o.Log}
}

// Load loads modules from files, and closes all of them if one cannot be loaded.
func Load(ctx context.Context, paths []string, o host.Options) ([]*host.Module, error) {
	return LoadFrom(ctx, Source{}, paths, o)
}

// LoadFrom loads modules from a Source, and closes all of them if one cannot be loaded.
func LoadFrom(ctx context.Context, from Source, names []string, o host.Options) ([]*host.Module, error) {
	loaded, err := loadAll(ctx, from, names, o, nil)
	return modulesOf(loaded), err
}

// loaded is a module together with the inputs that it was made from.
type loaded struct {
	module *host.Module
	text   [sha256.Size]byte // the hash of its manifest; zero for a module without a manifest
}

// unchanged reports whether loading again would give the same module.
func (l loaded) unchanged(now *opened) bool {
	return l.text == now.text && l.module.Digest() == fmt.Sprintf("sha256:%x", sha256.Sum256(now.wasm))
}

func modulesOf(all []loaded) []*host.Module {
	modules := make([]*host.Module, len(all))
	for i, l := range all {
		modules[i] = l.module
	}
	return modules
}

// loadAll loads modules, and reuses the modules whose inputs have not changed. If one cannot
// be loaded, it closes the modules that it has loaded.
func loadAll(ctx context.Context, from Source, names []string, o host.Options, before []loaded) ([]loaded, error) {
	var all, fresh []loaded
	for i, name := range names {
		src, err := from.read(ctx, name, o)
		if err == nil && len(before) > 0 && before[i].unchanged(src) {
			all = append(all, before[i])
			continue
		}
		var module *host.Module
		if err == nil {
			module, err = host.Load(ctx, src.label, src.wasm, src.options)
			err = from.Python.advise(name, err)
		}
		if err != nil {
			for _, l := range fresh {
				_ = l.module.Close(ctx) // the first error matters
			}
			return nil, err
		}
		all, fresh = append(all, loaded{module, src.text}), append(fresh, loaded{module, src.text})
	}
	return all, nil
}

// opened holds the inputs of a module.
type opened struct {
	label   string
	wasm    []byte
	options host.Options
	text    [sha256.Size]byte // as in loaded
}

// Pack returns one module for the data that was read by a name. It joins a script with its
// engine, and returns any other data unchanged.
func (s Source) Pack(ctx context.Context, name string, data []byte) ([]byte, error) {
	if isModule(data) || !scripts.Is(name) {
		return data, nil
	}
	engine, err := scripts.Engine(name, s.Engine)
	if err != nil {
		return nil, err
	}
	label, wasm, err := s.open(ctx, engine)
	if err == nil && !isModule(wasm) {
		err = fmt.Errorf("%s: not a WebAssembly file", label)
	}
	if err != nil {
		return nil, fmt.Errorf("the engine for %s: %w", name, err)
	}
	var packed map[string][]byte
	if scripts.HasPackages(name) {
		if name, data, packed, err = s.Python.pack(ctx, name, data, wasm); err != nil {
			return nil, err
		}
	}
	if wasm, err = scripts.Embed(wasm, name, data, packed); err != nil {
		return nil, fmt.Errorf("the engine for %s: %w", name, err)
	}
	return wasm, nil
}

// isModule distinguishes a module from a manifest or a script.
func isModule(data []byte) bool { return bytes.HasPrefix(data, []byte("\x00asm")) }

// read reads a module by its name, and what its manifest or script needs.
func (s Source) read(ctx context.Context, name string, o host.Options) (*opened, error) {
	label, data, err := s.open(ctx, name)
	if err != nil {
		return nil, err
	}
	src := &opened{label: label, wasm: data, options: o}
	if s.log != nil {
		recordOutput(*s.log, label, &src.options)
		announceCompiling(*s.log, label, &src.options)
		src.options.FullStacks = src.options.FullStacks || s.log.GetLevel() <= zerolog.DebugLevel
	}
	if manifests.Is(name) && !isModule(data) {
		src.text = sha256.Sum256(data)
		if src.wasm, err = fromManifest(ctx, s.open, name, data, &src.options); err != nil {
			err = fmt.Errorf("%s: %w", label, err)
		}
		return src, err
	}
	src.wasm, err = s.Pack(ctx, name, data)
	return src, err
}

// fromManifest reads the module of a manifest, and narrows the options as the manifest says.
// Explicit configuration takes precedence over the configuration in the manifest.
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
	narrow(&o.MaxMemory, int(m.Memory.MaxPages)<<16)
	narrowBytes(&o.PluginVariables, m.Memory.MaxVarBytes)
	narrowBytes(&o.PluginResponse, m.Memory.MaxHttpResponseBytes)
	narrow(&o.ComputeLimit, time.Duration(min(m.Timeout, uint64(durations.Century.Milliseconds())))*time.Millisecond)
	return m.Module(path, func(path string) ([]byte, error) {
		if err := boundedfile.CheckNamed(path); err != nil {
			return nil, err
		}
		_, wasm, err := open(ctx, path)
		return wasm, err
	})
}

// narrow lowers a limit. A limit of 0 in the manifest changes nothing; an option of 0 means
// its default.
func narrow[N int | time.Duration](limit *N, to N) {
	if to > 0 && (*limit == 0 || to < *limit) {
		*limit = to
	}
}

// narrowBytes lowers a limit of bytes, for which a manifest says -1 where it has none, and 0
// for nothing at all. See host.Options.PluginVariables for what the options mean.
func narrowBytes(limit *int, to int64) {
	if to == 0 {
		*limit = -1
	}
	narrow(limit, int(to))
}

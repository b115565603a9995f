package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/kopf-wasm/kopf/host/prepare"
)

// compile validates, prepares and compiles the module.
func (m *Module) compile(ctx context.Context, wasm []byte, source *prepare.Source) error {
	var err error
	if m.cacheDir, err = cacheDir(m.options.CacheDir); err != nil {
		return fmt.Errorf("compilation cache: %w", err)
	}
	limits := m.limits()
	file := preparedFile(m.cacheDir, m.digest, limits)
	restored := m.restore(file, source, limits)
	if !restored {
		if m.prepared, err = source.Prepare(limits); err != nil {
			return m.refuse(err)
		}
		if err := validateOriginal(ctx, wasm, limits); err != nil {
			return m.refuse(err)
		}
	}
	err = m.build(ctx, m.cacheDir, limits)
	if err != nil && m.cacheDir != "" {
		err = m.rebuild(ctx, limits)
	}
	if err != nil {
		return m.refuse(err)
	}
	if restored {
		return nil
	}
	if err := savePrepared(file, m.prepared); err != nil {
		return errors.Join(fmt.Errorf("compilation cache: %w", err), m.free(ctx))
	}
	return nil
}

func (m *Module) limits() prepare.Limits {
	return prepare.Limits{MemoryPages: uint32(m.options.MaxMemory / wasmPage)}
}

// build makes machine code out of the prepared module, through the cache in a folder, if any.
func (m *Module) build(ctx context.Context, dir string, limits prepare.Limits) error {
	config := wazeroConfig(wazero.NewRuntimeConfig(), limits)
	if dir != "" {
		var err error
		if m.cache, err = wazero.NewCompilationCacheWithDir(dir); err != nil {
			return err
		}
		config = config.WithCompilationCache(m.cache)
	}
	m.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	err := instantiateHost(ctx, m.runtime)
	if err == nil {
		workers := experimental.WithCompilationWorkers(ctx, runtime.GOMAXPROCS(0))
		m.compiled, err = m.runtime.CompileModule(workers, m.prepared.Wasm)
	}
	if err != nil {
		return errors.Join(err, m.free(ctx))
	}
	return nil
}

// rebuild builds again without the cache. If that works the cache was broken,
// and the engine does not repair it: so it goes.
func (m *Module) rebuild(ctx context.Context, limits prepare.Limits) error {
	if err := m.build(ctx, "", limits); err != nil {
		return err
	}
	return clearCache(m.cacheDir)
}

// wazeroConfig is what all runtimes have in common.
func wazeroConfig(config wazero.RuntimeConfig, limits prepare.Limits) wazero.RuntimeConfig {
	return config.WithMemoryLimitPages(limits.MemoryPages).
		WithCoreFeatures(api.CoreFeaturesV2).WithDebugInfoEnabled(false)
}

// restore takes the prepared module from the cache, if it is there and sound.
func (m *Module) restore(file string, source *prepare.Source, limits prepare.Limits) bool {
	if file == "" {
		return false
	}
	saved, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	m.prepared, err = source.Restore(saved, limits)
	return err == nil
}

// validateOriginal refuses an invalid module: it could become valid by what is
// added to it, and reach what is private. The interpreter validates as the compiler does, but compiles faster.
func validateOriginal(ctx context.Context, wasm []byte, limits prepare.Limits) error {
	rt := wazero.NewRuntimeWithConfig(ctx, wazeroConfig(wazero.NewRuntimeConfigInterpreter(), limits))
	_, err := rt.CompileModule(ctx, wasm)
	return errors.Join(err, rt.Close(ctx))
}

package host

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"

	"github.com/kopf-wasm/kopf/host/compiler"
	"github.com/kopf-wasm/kopf/host/prepare"
)

// compile prepares, validates and compiles the module, or loads the result from the cache by
// the digest of the code. The declaration and the configuration are not code, so an engine
// is compiled once for all scripts. No byte of the original file reaches the engine: even
// the validated parts are decoded and encoded again.
func (m *Module) compile(ctx context.Context, digest string, source *prepare.Source) error {
	dir, err := cacheDir(m.options.CacheDir)
	if err != nil {
		return fmt.Errorf("compilation cache: %w", err)
	}
	limits := m.limits()
	file := preparedFile(dir, digest, limits)
	if m.restore(dir, file, digest, source, limits) && m.build(compiler.OnlyCached(ctx), dir, m.prepared.Shell) == nil {
		return nil
	}
	if m.prepared, err = source.Prepare(limits); err != nil {
		return m.refuse(err)
	}
	if m.options.Compiling != nil {
		m.options.Compiling(len(m.prepared.Canonical))
	}
	machineCode, err := m.translate(ctx, dir, compiler.Job{
		Original: m.prepared.Canonical, Prepared: m.prepared.Wasm, MemoryPages: limits.MemoryPages,
		Time: m.options.CompileTime, Memory: m.options.CompileMemory,
	})
	if err != nil {
		return err
	}
	if err := saveLoadable(file, machineCode, m.prepared.Save(digest)); err != nil {
		return errors.Join(fmt.Errorf("compilation cache: %w", err), m.free(ctx))
	}
	return nil
}

func (m *Module) limits() prepare.Limits {
	return prepare.Limits{MemoryPages: uint32(m.options.MaxMemory / wasmPage)}
}

// translate creates machine code, in a separate process if the program supports that. The
// process writes to the cache directory, or to a temporary one. translate returns the path
// of the code below the directory.
func (m *Module) translate(ctx context.Context, dir string, job compiler.Job) (file string, err error) {
	if dir == "" {
		temporary, err := exchangeDir()
		if err != nil {
			return "", m.translateHere(ctx, job)
		}
		defer func() { _ = os.RemoveAll(temporary) }() // the system removes what remains
		dir = temporary
	}
	if job.Dir, err = filepath.Abs(dir); err != nil {
		return "", fmt.Errorf("compilation cache: %w", err)
	}
	if compiler.Offered() {
		file, err = compiler.Apart(ctx, job)
	} else {
		file, err = compiler.Here(ctx, job)
	}
	switch {
	case errors.Is(err, compiler.ErrInvalid), errors.Is(err, compiler.ErrLimit), errors.Is(err, compiler.ErrCrash):
		return "", m.refuse(err)
	case err != nil:
		return "", fmt.Errorf("%s: %w", m.name, err)
	}
	if err := m.build(compiler.OnlyCached(ctx), dir, m.prepared.Shell); err != nil {
		return "", fmt.Errorf("%s: loading what was compiled: %w", m.name, err)
	}
	return file, nil
}

// translateHere compiles in this process and memory, for systems where no file can be
// written.
func (m *Module) translateHere(ctx context.Context, job compiler.Job) error {
	if err := compiler.Validate(ctx, job); err != nil {
		return m.refuse(err)
	}
	if err := m.build(compiler.WithWorkers(ctx), "", m.prepared.Wasm); err != nil {
		return m.refuse(err)
	}
	return nil
}

// build loads the prepared module or, through a cache directory, its shell. It takes the machine
// of another module with the same code, if there is one.
func (m *Module) build(ctx context.Context, dir string, wasm []byte) (err error) {
	if dir == "" {
		m.machine, err = m.newMachine(ctx, "", wasm)
		return err
	}
	key := machineKey{code: sha256.Sum256(wasm), pages: m.limits().MemoryPages}
	if key.folder, err = filepath.Abs(dir); err != nil {
		return err
	}
	m.machine, err = machines.take(key, func() (*machine, error) { return m.newMachine(ctx, dir, wasm) })
	return err
}

// newMachine creates a runtime, and loads the module.
func (m *Module) newMachine(ctx context.Context, dir string, wasm []byte) (*machine, error) {
	made := &machine{}
	config := compiler.Config(m.limits().MemoryPages)
	if dir != "" {
		var err error
		if made.engine, err = engines.take(dir); err != nil {
			return nil, err
		}
		config = config.WithCompilationCache(made.engine.cache)
	}
	whole := context.WithoutCancel(ctx) // the host functions are never cached
	made.runtime = wazero.NewRuntimeWithConfig(whole, config)
	var err error
	made.hosts, err = instantiateHost(whole, made.runtime, m.imports)
	if err == nil {
		made.compiled, err = made.load(ctx, wasm)
	}
	if err != nil {
		return nil, errors.Join(err, made.close(whole))
	}
	return made, nil
}

// load loads machine code from the cache directory, or compiles in memory without one.
func (m *machine) load(ctx context.Context, wasm []byte) (wazero.CompiledModule, error) {
	if m.engine != nil {
		m.engine.loading.Lock()
		defer m.engine.loading.Unlock()
	}
	return m.runtime.CompileModule(ctx, wasm)
}

// restore loads the prepared module from the cache, if it and its machine code are present
// and sound.
func (m *Module) restore(dir, file, digest string, source *prepare.Source, limits prepare.Limits) bool {
	if file == "" {
		return false
	}
	saved, err := readLoadable(dir, file)
	if err != nil {
		return false
	}
	m.prepared, err = source.Restore(saved, digest, limits)
	return err == nil
}

package host

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/kopf-wasm/kopf/host/cache"
	"github.com/kopf-wasm/kopf/host/compiler"
	"github.com/kopf-wasm/kopf/host/prepare"
)

// compile prepares, validates and compiles the module, or loads the result from the cache by
// the digest of the code. The declaration and the configuration are not code, so an engine
// is compiled once for all scripts. No byte of the original file reaches the engine: even
// the validated parts are decoded and encoded again.
func (m *Module) compile(ctx context.Context, digest string, source *prepare.Source) error {
	dir, err := cache.Folder(m.options.CacheDir)
	if err != nil {
		return fmt.Errorf("compilation cache: %w", err)
	}
	limits := m.limits()
	file := cache.File(dir, digest, limits.MemoryPages)
	if m.restore(dir, file, digest, source, limits) && m.build(compiler.OnlyCached(ctx), dir, m.prepared.Shell) == nil {
		return nil
	}
	place, err := placeFor(dir, m.options.CacheDir != "")
	if err != nil {
		return err
	}
	defer place.leave()
	machineCode, err := m.translate(ctx, place, source)
	if err != nil {
		return err
	}
	if !place.isKept() {
		return nil
	}
	if err := cache.Save(file, machineCode, m.prepared.Save(digest)); err != nil {
		return errors.Join(fmt.Errorf("compilation cache: %w", err), m.free(ctx))
	}
	_ = cache.Prune(dir, cache.Limit(dir), cache.MaxFiles) // the module is loaded in any case
	return nil
}

func (m *Module) limits() prepare.Limits {
	return prepare.Limits{MemoryPages: uint32(m.options.MaxMemory / wasmPage)}
}

// place is the directory in which a module is compiled.
type place struct {
	dir       string // absolute; empty: no file can be written
	temporary bool   // it is removed after the module was loaded
}

// isKept reports whether the place is the cache directory.
func (p place) isKept() bool { return p.dir != "" && !p.temporary }

// placeFor returns the cache directory, or a temporary one without a cache. The directory by default is none if it cannot be written.
func placeFor(dir string, chosen bool) (place, error) {
	at := place{dir, dir == "" || !chosen && !cache.IsWritable(dir)}
	if at.temporary {
		var err error
		if at.dir, err = cache.Exchange(); err != nil {
			return place{}, nil //nolint:nilerr // it is compiled in memory
		}
	}
	absolute, err := filepath.Abs(at.dir)
	if err != nil {
		at.leave()
		return place{}, fmt.Errorf("compilation cache: %w", err)
	}
	at.dir = absolute
	return at, nil
}

func (p place) leave() {
	if p.temporary {
		_ = os.RemoveAll(p.dir) // the system removes what remains
	}
}

// translate prepares the module, creates machine code, and loads it. It returns the path of the
// code below the directory.
//
// If the program supports that, a separate process compiles. It starts, and validates the
// module, while this process prepares the module.
func (m *Module) translate(ctx context.Context, at place, source *prepare.Source) (file string, err error) {
	if at.dir == "" {
		if err := m.prepare(source, func([]byte) {}); err != nil {
			return "", err
		}
		defer m.announce(at)(false)
		return "", m.translateHere(ctx, compiler.Job{Original: m.prepared.Canonical, Prepared: m.prepared.Wasm, MemoryPages: m.limits().MemoryPages})
	}
	work, err := compiler.Begin(ctx, compiler.Job{
		Dir: at.dir, MemoryPages: m.limits().MemoryPages, Time: m.options.CompileTime, Memory: m.options.CompileMemory,
	})
	if err != nil {
		return "", fmt.Errorf("%s: %w", m.name, err)
	}
	defer work.Close()
	if err := m.prepare(source, work.Original); err != nil {
		return "", err
	}
	ended := m.announce(at)
	file, err = work.Compile(ctx, m.prepared.Wasm)
	ended(err == nil)
	switch {
	case errors.Is(err, compiler.ErrInvalid), errors.Is(err, compiler.ErrLimit), errors.Is(err, compiler.ErrCrash):
		return "", m.refuse(err)
	case err != nil:
		return "", fmt.Errorf("%s: %w", m.name, err)
	}
	return file, m.loadCompiled(ctx, at.dir, file)
}

// loadCompiled loads the machine code that was just compiled. If the engine refuses it, the module
// may have taken over the compiler.
func (m *Module) loadCompiled(ctx context.Context, dir, file string) error {
	m.codeSize = cache.SizeOf(filepath.Join(dir, file))
	err := m.build(compiler.OnlyCached(ctx), dir, m.prepared.Shell)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled): // by OnlyCached: it is not there any more
		return fmt.Errorf("%s: loading what was compiled: %w", m.name, err)
	}
	err = m.refuse(fmt.Errorf("%w: it has left machine code that cannot be loaded: %w", compiler.ErrCrash, err))
	return errors.Join(err, os.Remove(filepath.Join(dir, file)))
}

// prepare decodes the module, passes what was decoded to a function, and rewrites it.
func (m *Module) prepare(source *prepare.Source, decoded func(canonical []byte)) error {
	d, err := source.Decode(m.limits())
	if err == nil {
		decoded(d.Canonical)
		m.prepared, err = d.Prepare()
	}
	if err != nil {
		return m.refuse(err)
	}
	return nil
}

// announce reports that a compilation begins. The returned function reports its end, and remembers
// how long a successful one took.
func (m *Module) announce(at place) (ended func(successful bool)) {
	var pace compiler.Pace // without a cache, nothing is known and kept
	if !at.temporary {
		pace = compiler.PaceIn(at.dir)
	}
	size, began := len(m.prepared.Wasm), time.Now()
	report := m.options.Compiling(size, pace.Estimate(size))
	return func(successful bool) {
		report()
		if successful {
			pace.Learn(size, time.Since(began))
		}
	}
}

// codeGrowth is how much larger machine code is than the code that it was compiled from, at the most for the guests of the tests.
const codeGrowth = 5

// translateHere compiles in this process and memory, for systems where no file can be
// written.
func (m *Module) translateHere(ctx context.Context, job compiler.Job) error {
	if err := compiler.Validate(ctx, job); err != nil {
		return m.refuse(err)
	}
	m.codeSize = codeGrowth * int64(len(m.prepared.Wasm))
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
	made := &machine{size: m.codeSize + m.kept}
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
	saved, machineCode, err := cache.Read(dir, file)
	if err != nil {
		return false
	}
	m.codeSize = cache.SizeOf(machineCode)
	m.prepared, err = source.Restore(saved, digest, limits)
	return err == nil
}

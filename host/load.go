package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/prepare"
	"github.com/kopf-wasm/kopf/host/registration"
)

// Load makes a module out of the bytes of a WebAssembly file: it refuses what is
// no guest before any code of it runs, rewrites and compiles it, makes the first
// instance and asks it for its registration. The name is for messages.
//
// Errors: they wrap ErrModule if the file is to blame, and are a GuestError if
// the guest failed to register.
func Load(ctx context.Context, name string, wasm []byte, o Options) (*Module, error) {
	sum := sha256.Sum256(wasm)
	m := &Module{name: name, digest: "sha256:" + hex.EncodeToString(sum[:]), options: o.withDefaults()}
	m.streams = [2]*lockedWriter{{to: m.options.Stdout}, {to: m.options.Stderr}}
	m.pool = newPool(&m.options)
	var err error
	if m.source, err = prepare.Parse(wasm); err != nil {
		return nil, m.refuse(err)
	}
	if err := checkContract(m.source); err != nil {
		return nil, m.refuse(err)
	}
	if err := m.compile(ctx, wasm); err != nil {
		return nil, err
	}
	if err := m.first(ctx); err != nil {
		return nil, errors.Join(err, m.free(ctx))
	}
	return m, nil
}

// refuse is the error of a file that is no guest.
func (m *Module) refuse(err error) error { return fmt.Errorf("%s: %w: %w", m.name, ErrModule, err) }

// compile validates, prepares and compiles the module.
func (m *Module) compile(ctx context.Context, wasm []byte) error {
	var err error
	if m.cacheDir, err = cacheDir(m.options.CacheDir); err != nil {
		return fmt.Errorf("compilation cache: %w", err)
	}
	limits := prepare.Limits{MemoryPages: uint32(m.options.MaxMemory / wasmPage)}
	file := preparedFile(m.cacheDir, m.digest, limits)
	restored := m.restore(file, limits)
	if !restored {
		if m.prepared, err = m.source.Prepare(limits); err != nil {
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
func (m *Module) restore(file string, limits prepare.Limits) bool {
	if file == "" {
		return false
	}
	saved, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	m.prepared, err = m.source.Restore(saved, limits)
	return err == nil
}

// validateOriginal refuses an invalid module: it could become valid by what is
// added to it, and reach what is private. The interpreter validates as the compiler does, but compiles faster.
func validateOriginal(ctx context.Context, wasm []byte, limits prepare.Limits) error {
	rt := wazero.NewRuntimeWithConfig(ctx, wazeroConfig(wazero.NewRuntimeConfigInterpreter(), limits))
	_, err := rt.CompileModule(ctx, wasm)
	return errors.Join(err, rt.Close(ctx))
}

// first makes the first instance, whose registration is that of the module.
func (m *Module) first(ctx context.Context) error {
	in, err := m.acquire(ctx)
	if err != nil {
		return err
	}
	defer in.unlock()
	defer m.pool.give(in)
	if m.registration, err = registration.Parse(m.registered); err != nil {
		return m.refuse(err)
	}
	if m.registration.Error != "" {
		return fmt.Errorf("%s: the guest refuses its configuration: %s", m.name, m.registration.Error)
	}
	return nil
}

// newInstance makes an instance that is still to be created.
func (m *Module) newInstance() *instance {
	in := &instance{
		m: m, busy: make(chan struct{}, 1),
		exports: map[string]api.Function{}, tasks: map[uint32]*Task{},
	}
	for i, to := range m.streams {
		in.streams[i].out = to
	}
	return in
}

// create makes the instance ready for tasks.
func (in *instance) create(ctx context.Context) error {
	m := in.m
	ctx, cancel := context.WithTimeoutCause(ctx, m.options.RegisterTimeout,
		fmt.Errorf("registration took longer than %v: %w", m.options.RegisterTimeout, context.DeadlineExceeded))
	defer cancel()
	var err error
	in.mod, err = m.runtime.InstantiateModule(ctx, m.compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return fmt.Errorf("%s: instance: %w", m.name, err)
	}
	return in.initialize(ctx)
}

// initialize fills the memory and calls what is to be called once.
func (in *instance) initialize(ctx context.Context) error {
	for _, d := range in.m.prepared.Data {
		if !in.mod.Memory().Write(d.Offset, d.Bytes) {
			return in.m.refuse(fmt.Errorf("data at %d lies outside of the memory", d.Offset))
		}
	}
	for _, export := range []string{prepare.Start, abi.ExportInitialize} {
		if in.mod.ExportedFunction(export) == nil {
			continue
		}
		c := in.newCall(ctx, export, nil)
		c.registering = true
		if _, err := c.call(export); err != nil {
			return err
		}
	}
	return in.register(ctx)
}

// register asks for the registration. Every instance is asked, as it may keep
// what it declares in its memory; the answers must be equal.
func (in *instance) register(ctx context.Context) error {
	request, err := json.Marshal(abi.RegisterRequest{ABI: abi.Version, Host: in.m.options.HostName, Config: in.m.options.Config})
	if err != nil {
		return fmt.Errorf("request for %s: %w", abi.ExportRegister, err)
	}
	c := in.newCall(ctx, abi.ExportRegister, nil)
	c.registering = true
	size, write := sendBytes(request)
	data, err := c.exchange(size, write)
	if err != nil {
		return err
	}
	if ctx.Err() != nil { // the guest's sleeps were cut short, and it went on
		return c.fail(&stopped{context.Cause(ctx)})
	}
	switch {
	case in.m.registered == nil:
		in.m.registered = append([]byte{}, data...)
	case string(in.m.registered) != string(data):
		return c.fail(fmt.Errorf("%w: the registration differs from that of another instance: %s", ErrMessage, firstDifference(in.m.registered, data)))
	}
	return nil
}

// firstDifference shows where two texts begin to differ.
func firstDifference(a, b []byte) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return strconv.Quote(string(a[i:min(i+40, len(a))])) + " and " + strconv.Quote(string(b[i:min(i+40, len(b))]))
}

// close frees the instance. No call of it runs, and none will.
func (in *instance) close() {
	for i := range in.streams {
		in.streams[i].end()
	}
	if in.mod != nil {
		// Nothing is left to do about an error: the instance is forgotten anyway.
		_ = in.mod.Close(context.Background())
	}
}

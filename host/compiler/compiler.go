// Package compiler compiles prepared modules to machine code, and stores it in a directory
// from which the host loads it. It compiles in a separate process, so that a hostile module
// cannot exhaust the time or the memory of the host. Programs that do not offer this compile
// in their own process.
//
// # Why a process
//
// The host cannot interrupt compilation: the engine ignores the context while it compiles a
// function, and does not return memory. For a process, the system enforces limits.
package compiler

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/kopf-wasm/kopf/host/prepare"
)

// Job is a module to compile.
type Job struct {
	Dir         string // the engine's cache; absolute
	Original    []byte // is validated, in its canonical form: the prepared module of an invalid one may be valid
	Prepared    []byte // is compiled; the machine code in Dir is found by its shell
	MemoryPages uint32 // of 64 KiB: what a memory may grow to

	// Time and Memory are what a separate process may use: time of all processors, in whole seconds,
	// and bytes.
	Time   time.Duration
	Memory int
}

// Errors of Work.
var (
	// ErrInvalid says that the engine refuses the module.
	ErrInvalid = errors.New("invalid")

	// ErrLimit says that compiling took too much time or memory.
	ErrLimit = errors.New("over a limit")

	// ErrCrash says that the compiler crashed on the module.
	ErrCrash = errors.New("the compiler crashed")
)

// validated compiles the module if it is valid.
func validated(ctx context.Context, job Job) error {
	if err := Validate(ctx, job); err != nil {
		return err
	}
	return fill(ctx, job)
}

// Validate refuses an invalid module. Rewriting could make such a module valid and give it
// access to private parts. The engine validates a module before it compiles it, and compiles
// nothing here.
func Validate(ctx context.Context, job Job) error {
	rt := wazero.NewRuntimeWithConfig(ctx, Config(job.MemoryPages))
	_, err := rt.CompileModule(OnlyCached(ctx), job.Original)
	if errors.Is(err, context.Canceled) { // by OnlyCached
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return errors.Join(err, rt.Close(ctx))
}

// fill compiles the module and its shell at the same time, through separate caches. If both fail,
// the error is that of the module.
func fill(ctx context.Context, job Job) error {
	shell, err := prepare.Shell(job.Prepared)
	if err != nil {
		return err
	}
	ofShell := make(chan error, 1)
	go func() { // Waited for below. It waits for the disk while the module is compiled.
		ofShell <- compile(experimental.WithCompilationWorkers(ctx, 1), filepath.Join(job.Dir, shellDir), job.MemoryPages, shell)
	}()
	err = compile(WithWorkers(ctx), filepath.Join(job.Dir, codeDir), job.MemoryPages, job.Prepared)
	if shellErr := <-ofShell; err == nil {
		err = shellErr
	}
	return err
}

// compile compiles a module through the cache in a directory.
func compile(ctx context.Context, dir string, memoryPages uint32, wasm []byte) error {
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return err
	}
	rt := wazero.NewRuntimeWithConfig(ctx, Config(memoryPages).WithCompilationCache(cache))
	_, err = rt.CompileModule(ctx, wasm)
	return errors.Join(err, rt.Close(ctx), cache.Close(ctx))
}

// Config returns the configuration with which all modules are compiled.
func Config(memoryPages uint32) wazero.RuntimeConfig {
	return wazero.NewRuntimeConfig().WithMemoryLimitPages(memoryPages).
		WithCoreFeatures(api.CoreFeaturesV2).WithDebugInfoEnabled(false)
}

// maxWorkers bounds the functions that are compiled at once, because each takes memory.
const maxWorkers = 4

// WithWorkers makes the engine use several processors.
func WithWorkers(ctx context.Context) context.Context {
	return experimental.WithCompilationWorkers(ctx, min(runtime.GOMAXPROCS(0), maxWorkers))
}

// OnlyCached returns a context with which the engine loads modules from its cache, and
// compiles nothing. The context is already cancelled, and the engine checks that before it
// compiles a function.
func OnlyCached(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(experimental.WithCompilationWorkers(ctx, 2)) // a single worker would not check
	cancel()
	return ctx
}

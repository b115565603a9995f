// Package compiler makes machine code out of prepared modules, and leaves it in a
// folder from which the host loads it: in a process of its own, where a module that
// is made to take hours or all memory harms nobody, or, where the program does not
// offer that, in this one.
//
// # Why a process
//
// Compiling is the one thing that the host does for a guest and cannot interrupt:
// the engine looks at no context while it compiles a function, and gives back no
// memory. A process has limits that the system enforces.
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

// Job is a module to be compiled.
type Job struct {
	Dir         string // the engine's cache; absolute
	Original    []byte // is validated, in its canonical form: the prepared module of an invalid one may be valid
	Prepared    []byte // is compiled; who has its shell finds the machine code in Dir
	MemoryPages uint32 // of 64 KiB: what a memory may grow to

	// Time and Memory are what Apart grants: time of all processors, in whole seconds,
	// and bytes.
	Time   time.Duration
	Memory int
}

// Errors of Here and Apart.
var (
	// ErrInvalid says that the engine refuses the module.
	ErrInvalid = errors.New("invalid")

	// ErrLimit says that compiling took too much time or memory.
	ErrLimit = errors.New("over a limit")

	// ErrCrash says that the compiler died of the module.
	ErrCrash = errors.New("the compiler crashed")
)

// Here compiles the module in this process: nothing bounds that. It returns where the machine
// code is, below the folder of the job.
//
// Errors: ErrInvalid.
func Here(ctx context.Context, job Job) (file string, err error) {
	return job.leave(func(work Job) error { return validated(ctx, work) })
}

// validated compiles the module if it is valid.
func validated(ctx context.Context, job Job) error {
	if err := Validate(ctx, job); err != nil {
		return err
	}
	return fill(ctx, job)
}

// Validate refuses an invalid module: it could become valid by what is added to
// it, and reach what is private. The interpreter validates as the compiler does, but
// compiles faster.
func Validate(ctx context.Context, job Job) error {
	rt := wazero.NewRuntimeWithConfig(ctx, configure(wazero.NewRuntimeConfigInterpreter(), job.MemoryPages))
	_, err := rt.CompileModule(ctx, job.Original)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return errors.Join(err, rt.Close(ctx))
}

// fill compiles the module and its shell through caches of their own.
func fill(ctx context.Context, job Job) error {
	shell, err := prepare.Shell(job.Prepared)
	if err != nil {
		return err
	}
	return errors.Join(
		compile(ctx, filepath.Join(job.Dir, codeDir), job.MemoryPages, job.Prepared),
		compile(ctx, filepath.Join(job.Dir, shellDir), job.MemoryPages, shell),
	)
}

// compile compiles a module through the cache in a folder.
func compile(ctx context.Context, dir string, memoryPages uint32, wasm []byte) error {
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return err
	}
	rt := wazero.NewRuntimeWithConfig(ctx, Config(memoryPages).WithCompilationCache(cache))
	_, err = rt.CompileModule(WithWorkers(ctx), wasm)
	return errors.Join(err, rt.Close(ctx), cache.Close(ctx))
}

// Config is how all modules are compiled.
func Config(memoryPages uint32) wazero.RuntimeConfig {
	return configure(wazero.NewRuntimeConfig(), memoryPages)
}

func configure(config wazero.RuntimeConfig, memoryPages uint32) wazero.RuntimeConfig {
	return config.WithMemoryLimitPages(memoryPages).
		WithCoreFeatures(api.CoreFeaturesV2).WithDebugInfoEnabled(false)
}

// maxWorkers bounds how many functions are compiled at once: each takes memory of its own.
const maxWorkers = 4

// WithWorkers lets the engine use several processors.
func WithWorkers(ctx context.Context) context.Context {
	return experimental.WithCompilationWorkers(ctx, min(runtime.GOMAXPROCS(0), maxWorkers))
}

// OnlyCached is a context with which the engine loads what is in its cache, and
// compiles nothing: it is over. The engine looks at that before each function.
func OnlyCached(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(experimental.WithCompilationWorkers(ctx, 2)) // one worker alone would not look
	cancel()
	return ctx
}

package packages

import (
	"context"
	_ "embed" // compile.py
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/host/configuration"
	"github.com/kopf-wasm/kopf/host/declaration"
	"github.com/kopf-wasm/kopf/host/files"
)

// script runs in the engine: it compiles one file for each call.
//
//go:embed compile.py
var script string

// Limits of the engine that compiles. A file is compiled as a whole, in one message.
const (
	compileTime    = time.Minute // of one file, and of the start of the engine
	compileMemory  = 1 << 30     // of one instance, in bytes
	compileMessage = 256 << 20   // in bytes
)

// python compiles files by an engine of scripts, in its sandbox.
type python struct {
	engine []byte
}

// answer is the result of a call of the script.
type answer struct {
	Code         string   `json:"code"`  // base64
	Error        string   `json:"error"` // of Python
	Requirements []string `json:"requirements"`
}

// compile returns files with compiled code in place of text, below Packages. A file that the
// engine cannot compile stays text, so its import fails with the error of Python.
func (c *python) compile(ctx context.Context, sources map[string][]byte) (map[string][]byte, error) {
	image, texts := map[string][]byte{}, map[string][]byte{}
	var paths []string
	for _, path := range sortedKeys(sources) {
		name := Packages + path
		if strings.HasSuffix(path, ".py") {
			texts[name], paths = sources[path], append(paths, name)
		} else {
			image[name] = sources[path]
		}
	}
	if len(paths) == 0 {
		return image, nil
	}
	module, err := c.load(ctx, texts)
	if err != nil {
		return nil, err
	}
	compiled, err := compileAll(ctx, module, paths)
	if err := errors.Join(err, module.Close(ctx)); err != nil {
		return nil, err
	}
	for i, path := range paths {
		if compiled[i] == nil {
			image[path] = texts[path]
		} else {
			image[strings.TrimSuffix(path, ".py")+".pyc"] = compiled[i]
		}
	}
	return image, nil
}

// compileAll compiles files on all processors. The code of a file with an error is nil.
func compileAll(ctx context.Context, module *host.Module, paths []string) ([][]byte, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	compiled := make([][]byte, len(paths))
	var next atomic.Int64
	var all sync.WaitGroup // Waited for below.
	for range runtime.NumCPU() {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(paths)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				got, err := call(ctx, module, map[string]string{"path": paths[i]})
				if err == nil && got.Error == "" {
					compiled[i], err = base64.StdEncoding.DecodeString(got.Code)
				}
				if err != nil {
					stop(fmt.Errorf("%s: %w", strings.TrimPrefix(paths[i], Packages), err))
				}
			}
		})
	}
	all.Wait()
	return compiled, context.Cause(ctx)
}

// dependencies returns the requirements in a pyproject.toml.
func (c *python) dependencies(ctx context.Context, project []byte) ([]string, error) {
	module, err := c.load(ctx, map[string][]byte{"pyproject.toml": project})
	if err != nil {
		return nil, err
	}
	got, err := call(ctx, module, map[string]string{"project": "pyproject.toml"})
	if err = errors.Join(err, module.Close(ctx)); err != nil {
		return nil, err
	}
	if got.Error != "" {
		return nil, errors.New(got.Error)
	}
	return got.Requirements, nil
}

// load loads the engine with the script and the files that it reads. Each call gets a new
// instance, so that its result does not depend on earlier calls.
func (c *python) load(ctx context.Context, texts map[string][]byte) (*host.Module, error) {
	wasm, err := declaration.Remove(c.engine)
	if err == nil {
		wasm, err = configuration.Embed(wasm, map[string]string{"KOPF_SCRIPT": script, "KOPF_SCRIPT_NAME": "compile.py"})
	}
	if err == nil {
		wasm, err = files.Embed(wasm, texts)
	}
	if err != nil {
		return nil, err
	}
	return host.Load(ctx, "the engine that compiles packages", wasm, host.Options{
		RetireCalls: 1, MaxIdle: 1, ComputeLimit: compileTime, RegisterTimeout: compileTime, MaxMemory: compileMemory, RetireMemory: compileMemory,
		MessageLimit: compileMessage, MaxFiles: 1 << 30, Stdout: io.Discard, Stderr: io.Discard,
	})
}

// call calls the script.
func call(ctx context.Context, module *host.Module, spec map[string]string) (*answer, error) {
	body, err := json.Marshal(map[string]any{"metadata": map[string]string{"name": "package", "uid": "package"}, "spec": spec})
	if err != nil {
		return nil, err
	}
	task, step, err := module.Start(ctx, &abi.Invocation{
		Kind: abi.KindEvent, ID: "work", Name: "package", UID: "package",
		Resource: &abi.ResourceInfo{Group: "packages.kopf.dev", Version: "v1", Plural: "packages", Kind: "Package"},
	}, body, silent{})
	if err != nil {
		return nil, err
	}
	task.Release(ctx)
	if step.Error != nil {
		return nil, fmt.Errorf("%s: %s", step.Error.Type, step.Error.Message)
	}
	got := &answer{}
	if err := json.Unmarshal(step.Result, got); err != nil {
		return nil, fmt.Errorf("the engine cannot compile packages: %w", err)
	}
	return got, nil
}

// silent is the host.Env of a call that compiles.
type silent struct{}

// Log implements host.Env.
func (silent) Log(int, string) {}

// Segment implements host.Env.
func (silent) Segment(uint32) []byte { return nil }

// Stopped implements host.Env.
func (silent) Stopped() int { return 0 }

// Event implements host.Env.
func (silent) Event(abi.Event) error { return abi.ErrDenied }

// MemoGet implements host.Env.
func (silent) MemoGet(int, string) (value []byte, version uint64, ok bool) { return nil, 0, false }

// MemoSet implements host.Env.
func (silent) MemoSet(int, string, []byte, int64) (uint64, error) { return 0, abi.ErrDenied }

// Index implements host.Env.
func (silent) Index(int, string, []byte) ([]byte, error) { return nil, abi.ErrAbsent }

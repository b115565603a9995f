package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/tetratelabs/wazero"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/prepare"
)

// Module is a guest that is loaded and registered, with its pool of instances.
// It is safe for concurrent use.
type Module struct {
	name    string
	digest  string
	options Options
	carried map[string]string // the configuration that is embedded in it
	plugin  bool              // of the flavour of Extism
	program *program          // instead of all that is about WebAssembly; nil for modules
	imports []Function
	exports []Function
	entries map[string]uint64 // numbers for prepare.Enter

	runtime  wazero.Runtime
	cache    wazero.CompilationCache // nil: none
	compiled wazero.CompiledModule
	prepared *prepare.Prepared
	streams  [2]*lockedWriter
	output   *outputLimit
	pool     *pool
	snapshot atomic.Pointer[snapshot] // nil: there is none (yet)

	warned atomic.Bool // of sleeping

	meter           meter
	stopped, failed atomic.Int64

	registration *abi.Registration
	registered   []byte // as the guest wrote it: equal from every instance
}

// Name is the name that was given to Load.
func (m *Module) Name() string { return m.name }

// Digest identifies the bytes of the module: "sha256:" and 64 hexadecimal digits; empty
// for a native program.
func (m *Module) Digest() string { return m.digest }

// Carried is the configuration that is embedded in the module (package configuration):
// of a script, its text and its name. It must not be changed.
func (m *Module) Carried() map[string]string { return m.carried }

// IsPlugin tells whether the module was made with a development kit of Extism.
func (m *Module) IsPlugin() bool { return m.plugin }

// Registration is what the guest declares. It must not be changed.
func (m *Module) Registration() *abi.Registration { return m.registration }

// Registered is the registration as the guest wrote it. It must not be changed.
func (m *Module) Registered() []byte { return m.registered }

// Function is a function that a module imports or exports.
type Function struct {
	Module string // of an import; empty for exports
	Name   string
	Type   string // "(i32, i32) -> i64"; of exports also "memory", "table", "global"
}

// Imports lists what the module imports, in its order. It must not be changed.
func (m *Module) Imports() []Function { return m.imports }

// Exports lists what the module exports, in its order. It must not be changed.
func (m *Module) Exports() []Function { return m.exports }

// Start calls a handler of the registration in an instance that is its own until
// the task is released. It returns the task and its first step. The body may be
// nil where there is no object. It waits for a free instance; about the context see Task.
func (m *Module) Start(ctx context.Context, inv *abi.Invocation, body []byte, env Env) (*Task, *abi.Step, error) {
	in, err := m.place(ctx, inv, env)
	if err != nil {
		return nil, nil, err
	}
	defer in.unlock()
	t := in.newTask(env)
	t.key = culpritKey(inv)
	step, err := t.begin(ctx, inv, body)
	if err != nil {
		delete(in.tasks, t.id)
		in.vacate(true)
		return nil, nil, err
	}
	return t, step, nil
}

// Ask asks callbacks of handlers of the registration; see Task.Ask for those of
// children. The answers are as many as the questions. The kind of the invocation
// matters for reviews, which have instances in reserve.
func (m *Module) Ask(ctx context.Context, q *abi.Questions, body []byte, env Env) (*abi.Answers, error) {
	in, err := m.acquire(ctx, m.permitsFor(q.Kind), env)
	if err != nil {
		return nil, err
	}
	defer in.unlock()
	defer m.pool.give(in)
	return in.ask(ctx, q, body, env)
}

// ask asks the guest. The task is only for the host functions.
func (in *instance) ask(ctx context.Context, q *abi.Questions, body []byte, env Env) (*abi.Answers, error) {
	header, err := json.Marshal(q)
	if err != nil {
		return nil, fmt.Errorf("questions for %s: %w", abi.ExportAsk, err)
	}
	t := in.newTask(env)
	defer delete(in.tasks, t.id)
	c := in.newCall(ctx, abi.ExportAsk, t)
	size, write := sendFrame(frame(header, body)...)
	data, err := c.exchange(size, write, uint64(t.id))
	if err != nil {
		return nil, err
	}
	answers, err := decodeAnswers(data, len(q.Questions))
	if err != nil {
		return nil, c.fail(err)
	}
	return answers, nil
}

// Close ends the module: it waits for running calls, ends all tasks, and frees
// what the module holds. Machine code and memory are never freed under a running
// call: if the context ends before the calls do, they stay, and so does the error.
func (m *Module) Close(ctx context.Context) error {
	for _, in := range m.pool.shut() {
		if err := in.holdUntil(ctx, nil); err != nil { // without a core: no code of the guest runs
			return fmt.Errorf("closing %s: %w", m.name, err)
		}
		in.dead = errClosed
		in.close()
		in.release()
	}
	m.output.flush()
	return m.free(ctx)
}

// free frees runtime, snapshot and cache.
func (m *Module) free(ctx context.Context) error {
	if m.program != nil {
		return m.program.hangUp()
	}
	err := m.runtime.Close(ctx)
	if s := m.snapshot.Swap(nil); s != nil {
		err = errors.Join(err, s.image.Close())
	}
	if m.cache != nil {
		err = errors.Join(err, m.cache.Close(ctx))
		m.cache = nil
	}
	if err != nil {
		return fmt.Errorf("closing %s: %w", m.name, err)
	}
	return nil
}

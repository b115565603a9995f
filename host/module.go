package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/files"
	"github.com/kopf-wasm/kopf/host/guests"
	"github.com/kopf-wasm/kopf/host/output"
	"github.com/kopf-wasm/kopf/host/prepare"
)

// Module is a loaded and registered guest with its pool of instances. It is safe for
// concurrent use.
type Module struct {
	name    string
	digest  string
	kind    Kind
	options Options
	carried map[string]string // the configuration that is embedded in the module
	files   *files.Set        // the files that are embedded in the module

	code
	newGuest func() guests.Guest // of an instance
	program  connection
	pool     *pool

	streams [2]*output.Stream
	output  *output.Limit
	charged charged
	warned  atomic.Bool // about sleeping
	counts

	registration *abi.Registration
	registered   []byte // as the guest wrote it: equal in every instance
}

// code is a module in the engine; empty for a native program.
type code struct {
	imports []Function
	exports []Function
	entries map[string]uint64 // numbers for prepare.Enter

	machine  *machine
	codeSize int64 // of the machine code, in bytes
	kept     int64 // by the engine, besides that, in bytes
	prepared *prepare.Prepared
	snapshot atomic.Pointer[snapshot] // nil: no snapshot (yet)
}

// Name returns the name that was passed to Load.
func (m *Module) Name() string { return m.name }

// Digest identifies the bytes of the module: "sha256:" and 64 hexadecimal digits. It is
// empty for a native program.
func (m *Module) Digest() string { return m.digest }

// Carried returns the configuration that is embedded in the module (package configuration):
// for a script, its text and its name. The caller must not change it.
func (m *Module) Carried() map[string]string { return m.carried }

// Files returns the files that are embedded in the module; nil if there are none.
func (m *Module) Files() *files.Set { return m.files }

// Kind returns the kind of guests that the module belongs to.
func (m *Module) Kind() Kind { return m.kind }

// Registration returns the registration of the guest. The caller must not change it.
func (m *Module) Registration() *abi.Registration { return m.registration }

// Registered returns the registration as the guest wrote it. The caller must not change it.
func (m *Module) Registered() []byte { return m.registered }

// Function is a function that a module imports or exports.
type Function struct {
	Module string // of an import; empty for exports
	Name   string
	Type   string // "(i32, i32) -> i64"; of exports also "memory", "table", "global"
}

// Imports lists the imports of the module, in its order. The caller must not change the
// list.
func (m *Module) Imports() []Function { return m.imports }

// Exports lists the exports of the module, in its order. The caller must not change the
// list.
func (m *Module) Exports() []Function { return m.exports }

// Start calls a handler of the registration, in an exclusive instance until the task is
// released. It waits for a free instance. It returns the task and its first step. The body
// is nil if there is no object. See Task about the context.
func (m *Module) Start(ctx context.Context, inv *abi.Invocation, body []byte, env Env) (*Task, *abi.Step, error) {
	in, err := m.place(ctx, inv, env)
	if err != nil {
		return nil, nil, err
	}
	defer in.unlock()
	t := in.newTask(env)
	if inv.Kind == abi.KindDaemon || inv.Kind == abi.KindBackground { // others share no instance
		t.culprit = culpritOf(inv).alone()
	}
	step, err := t.begin(ctx, inv, body)
	if err != nil {
		delete(in.tasks, t.id)
		in.vacate(true)
		return nil, nil, err
	}
	return t, step, nil
}

// Ask calls callbacks of the registration's handlers. Task.Ask calls those of children.
// There is one answer for each question. The kind of the invocation selects the pool:
// reviews have reserved instances.
func (m *Module) Ask(ctx context.Context, q *abi.Questions, body []byte, env Env) (*abi.Answers, error) {
	in, err := m.acquire(ctx, m.permitsFor(q.Kind), env)
	if err != nil {
		return nil, err
	}
	defer in.unlock()
	defer m.pool.give(in)
	return in.ask(ctx, q, body, env)
}

// ask asks the guest. The task serves only the host functions.
func (in *instance) ask(ctx context.Context, q *abi.Questions, body []byte, env Env) (*abi.Answers, error) {
	header, err := json.Marshal(q)
	if err != nil {
		return nil, fmt.Errorf("questions for %s: %w", abi.ExportAsk, err)
	}
	t := in.newTask(env)
	defer delete(in.tasks, t.id)
	c := in.newCall(ctx, abi.ExportAsk, t)
	data, err := c.exchange(guests.Message{Task: t.id, Text: header, Framed: true, Body: body})
	if err != nil {
		return nil, err
	}
	answers, err := decodeAnswers(data, len(q.Questions))
	if err != nil {
		return nil, c.Fail(err)
	}
	for _, a := range answers.Answers {
		if a.Error != nil {
			in.m.output.Quote(&a.Error.Message, &a.Error.Stack)
		}
	}
	return answers, nil
}

// Close waits for running calls, ends all tasks, and frees the resources of the module. It
// never frees machine code and memory of a running call. If the context ends first, it
// returns an error, and the instances that still compute, the machine code and the snapshot stay.
func (m *Module) Close(ctx context.Context) error {
	for _, in := range m.pool.shut() {
		if err := in.holdUntil(ctx, nil); err != nil { // without a core, because no code of the guest runs
			return fmt.Errorf("closing %s: %w", m.name, err)
		}
		in.dead = errClosed
		in.close()
		in.release()
	}
	m.output.Flush()
	return m.free(ctx)
}

// discard frees the resources of a module that failed to load, and that nothing else uses.
func (m *Module) discard(ctx context.Context) error {
	for _, in := range m.pool.shut() {
		in.close()
	}
	return m.free(ctx)
}

// free frees the machine and the snapshot, or ends the native program. All instances are
// closed before: other modules may share the machine.
func (m *Module) free(ctx context.Context) error {
	m.discharge()
	if m.program.close != nil {
		return m.program.close()
	}
	err := machines.give(ctx, m.machine, m)
	m.machine = nil
	if s := m.snapshot.Swap(nil); s != nil {
		err = errors.Join(err, m.drop(s))
	}
	if err != nil {
		return fmt.Errorf("closing %s: %w", m.name, err)
	}
	return nil
}

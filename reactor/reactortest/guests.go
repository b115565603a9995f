package reactortest

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/registries"
)

// Scripted is a guest without WebAssembly: its handlers are scripts of steps.
type Scripted struct {
	Scripts map[string][]string // steps as JSON by handler id
	Fails   map[string]error    // failures of the guest itself by handler id

	Attempts []string    // the first steps of consecutive attempts, instead of scripts
	Begin    time.Time   // start of the test
	Times    []time.Time // of the attempts

	Invocations []abi.Invocation
	Answers     []abi.Answer
	Answered    time.Time // of the first answer
	Cancelled   int
	Alive       int // tasks that are not released
	Edits       func(body dicts.Object)
	Verdicts    []abi.Verdict // answers to filters
}

// ScriptedTask is the task of a Scripted.
type ScriptedTask struct {
	Guest    *Scripted
	ID       string
	rest     []string
	released bool
}

// Name implements guests.Guest.
func (g *Scripted) Name() string { return "scripted" }

// Registration implements guests.Guest.
func (g *Scripted) Registration() *abi.Registration { return &abi.Registration{} }

// Ask returns the verdicts.
func (g *Scripted) Ask(context.Context, *abi.Questions, []byte, guests.Env) (*abi.Answers, error) {
	return &abi.Answers{Answers: g.Verdicts}, nil
}

// Start starts the script of the handler.
func (g *Scripted) Start(_ context.Context, inv *abi.Invocation, _ []byte, _ guests.Env) (guests.Task, *abi.Step, error) {
	g.Invocations = append(g.Invocations, *inv)
	if err := g.Fails[inv.ID]; err != nil {
		return nil, nil, err
	}
	g.Alive++
	g.Times = append(g.Times, time.Now())
	task := &ScriptedTask{Guest: g, ID: inv.ID, rest: g.Scripts[inv.ID]}
	if len(g.Attempts) > 0 {
		task.rest, g.Attempts = g.Attempts[:1], g.Attempts[1:]
	}
	step, err := task.next()
	return task, step, err
}

func (t *ScriptedTask) next() (*abi.Step, error) {
	text := `{"step":"done"}`
	if len(t.rest) > 0 {
		text, t.rest = t.rest[0], t.rest[1:]
	}
	step := &abi.Step{}
	return step, json.Unmarshal([]byte(text), step)
}

// Start starts a sub-handler.
func (t *ScriptedTask) Start(ctx context.Context, inv *abi.Invocation, body []byte, e guests.Env) (guests.Task, *abi.Step, error) {
	return t.Guest.Start(ctx, inv, body, e)
}

// Ask returns the verdicts.
func (t *ScriptedTask) Ask(ctx context.Context, q *abi.Questions, body []byte, e guests.Env) (*abi.Answers, error) {
	return t.Guest.Ask(ctx, q, body, e)
}

// Resume returns the next step of the script.
func (t *ScriptedTask) Resume(_ context.Context, answer abi.Answer) (*abi.Step, error) {
	if t.Guest.Answers = append(t.Guest.Answers, answer); len(t.Guest.Answers) == 1 {
		t.Guest.Answered = time.Now()
	}
	return t.next()
}

// Cancel counts the cancellation.
func (t *ScriptedTask) Cancel(context.Context) error { t.Guest.Cancelled++; return nil }

// Transform applies Edits to a body.
func (t *ScriptedTask) Transform(_ context.Context, raw []byte) ([]byte, error) {
	body, err := dicts.DecodeObject(raw)
	if err != nil {
		return nil, err
	}
	t.Guest.Edits(body)
	return json.Marshal(body)
}

// Release counts the task as released.
func (t *ScriptedTask) Release(context.Context) {
	if !t.released {
		t.released = true
		t.Guest.Alive--
	}
}

// Instant is a guest whose handlers end at once, with a patch of the status.
type Instant struct{ Handlers []abi.Handler }

// Name implements guests.Guest.
func (g Instant) Name() string { return "instant" }

// Registration implements guests.Guest.
func (g Instant) Registration() *abi.Registration { return &abi.Registration{Handlers: g.Handlers} }

// Ask implements guests.Asker.
func (g Instant) Ask(context.Context, *abi.Questions, []byte, guests.Env) (*abi.Answers, error) {
	return &abi.Answers{}, nil
}

// Start returns the last step of a handler.
func (g Instant) Start(context.Context, *abi.Invocation, []byte, guests.Env) (guests.Task, *abi.Step, error) {
	return instantTask{}, instantStep, nil
}

// instantTask is a task that has ended.
type instantTask struct{ guests.Task }

func (instantTask) Release(context.Context) {}

// instantStep is the step of all calls, so that benchmarks do not count it.
var instantStep = &abi.Step{Step: abi.StepDone, Outcome: abi.Outcome{Patch: abi.Raw(`{"status":{"field":"value"}}`)}} //nolint:gochecknoglobals // it never changes

// Counting is a guest whose handlers all wait in the same way. It counts its calls.
type Counting struct {
	Handlers []abi.Handler
	Step     abi.Step // the first step of each call
	takes    time.Duration
	Begun    atomic.Int64
}

// Name implements guests.Guest.
func (g *Counting) Name() string { return "counting" }

// Registration implements guests.Guest.
func (g *Counting) Registration() *abi.Registration { return &abi.Registration{Handlers: g.Handlers} }

// Ask implements guests.Asker.
func (g *Counting) Ask(context.Context, *abi.Questions, []byte, guests.Env) (*abi.Answers, error) {
	return &abi.Answers{}, nil
}

// Start counts the call and returns the first step.
func (g *Counting) Start(context.Context, *abi.Invocation, []byte, guests.Env) (guests.Task, *abi.Step, error) {
	g.Begun.Add(1)
	time.Sleep(g.takes)
	step := g.Step
	return countingTask{}, &step, nil
}

// countingTask ends at its first Resume.
type countingTask struct{ guests.Task }

func (countingTask) Resume(context.Context, abi.Answer) (*abi.Step, error) {
	return &abi.Step{Step: abi.StepDone}, nil
}

func (countingTask) Cancel(context.Context) error { return nil }

func (countingTask) Release(context.Context) {}

// NewCounting makes a guest with one daemon.
func NewCounting(step abi.Step, takes time.Duration) *Counting {
	resource := abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
	return &Counting{Handlers: []abi.Handler{{Kind: abi.KindDaemon, ID: "daemon_fn", Resource: &resource}}, Step: step, takes: takes}
}

// HandlerOf returns a handler of a guest from its declaration in JSON.
func HandlerOf(t *testing.T, guest guests.Guest, declaration string) *registries.Handler {
	t.Helper()
	var spec abi.Handler
	if err := json.Unmarshal([]byte(declaration), &spec); err != nil {
		t.Fatal(err)
	}
	if spec.Kind == "" {
		spec.Kind = abi.KindCreate
	}
	h, err := registries.NewHandler(spec)
	if err != nil {
		t.Fatal(err)
	}
	h.Starter, h.Asker, h.Fn = guest, guest, "fn-"+spec.ID
	return h
}

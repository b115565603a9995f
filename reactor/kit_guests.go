package reactor

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
)

// scripted is a guest without WebAssembly: its handlers are scripts of steps.
type scripted struct {
	scripts map[string][]string // steps as JSON by the id of the handler
	fails   map[string]error    // failures of the guest itself

	attempts []string    // the first steps of the attempts, one after another, instead of scripts
	begin    time.Time   // of the test
	times    []time.Time // of the attempts

	invocations []abi.Invocation
	answers     []abi.Answer
	answered    time.Time // the first of them
	cancelled   int
	alive       int // tasks that are not released
	edits       func(body dicts.Object)
	verdicts    []abi.Verdict // on filters
}

type scriptedTask struct {
	guest    *scripted
	id       string
	rest     []string
	released bool
}

func (g *scripted) Name() string { return "scripted" }

func (g *scripted) Registration() *abi.Registration { return &abi.Registration{} }

func (g *scripted) Ask(context.Context, *abi.Questions, []byte, Env) (*abi.Answers, error) {
	return &abi.Answers{Answers: g.verdicts}, nil
}

func (g *scripted) Start(_ context.Context, inv *abi.Invocation, _ []byte, _ Env) (Task, *abi.Step, error) {
	g.invocations = append(g.invocations, *inv)
	if err := g.fails[inv.ID]; err != nil {
		return nil, nil, err
	}
	g.alive++
	g.times = append(g.times, time.Now())
	task := &scriptedTask{guest: g, id: inv.ID, rest: g.scripts[inv.ID]}
	if len(g.attempts) > 0 {
		task.rest, g.attempts = g.attempts[:1], g.attempts[1:]
	}
	step, err := task.next()
	return task, step, err
}

func (t *scriptedTask) next() (*abi.Step, error) {
	text := `{"step":"done"}`
	if len(t.rest) > 0 {
		text, t.rest = t.rest[0], t.rest[1:]
	}
	step := &abi.Step{}
	return step, json.Unmarshal([]byte(text), step)
}

func (t *scriptedTask) Start(ctx context.Context, inv *abi.Invocation, body []byte, e Env) (Task, *abi.Step, error) {
	return t.guest.Start(ctx, inv, body, e)
}

func (t *scriptedTask) Ask(ctx context.Context, q *abi.Questions, body []byte, e Env) (*abi.Answers, error) {
	return t.guest.Ask(ctx, q, body, e)
}

func (t *scriptedTask) Resume(_ context.Context, answer abi.Answer) (*abi.Step, error) {
	if t.guest.answers = append(t.guest.answers, answer); len(t.guest.answers) == 1 {
		t.guest.answered = time.Now()
	}
	return t.next()
}

func (t *scriptedTask) Cancel(context.Context) error { t.guest.cancelled++; return nil }

func (t *scriptedTask) Transform(_ context.Context, raw []byte) ([]byte, error) {
	body, err := dicts.DecodeObject(raw)
	if err != nil {
		return nil, err
	}
	t.guest.edits(body)
	return json.Marshal(body)
}

func (t *scriptedTask) Release(context.Context) {
	if !t.released {
		t.released = true
		t.guest.alive--
	}
}

// instant is a guest whose handlers end at once, with a patch of the status.
type instant struct{ handlers []abi.Handler }

func (g instant) Name() string { return "instant" }

func (g instant) Registration() *abi.Registration { return &abi.Registration{Handlers: g.handlers} }

func (g instant) Ask(context.Context, *abi.Questions, []byte, Env) (*abi.Answers, error) {
	return &abi.Answers{}, nil
}

func (g instant) Start(context.Context, *abi.Invocation, []byte, Env) (Task, *abi.Step, error) {
	return &scriptedTask{guest: &scripted{}}, &abi.Step{Step: abi.StepDone, Outcome: abi.Outcome{Patch: abi.Raw(`{"status":{"field":"value"}}`)}}, nil
}

// counting is a guest whose handlers all wait in the same way; its calls are counted.
type counting struct {
	handlers []abi.Handler
	step     abi.Step // the first one of each call
	takes    time.Duration
	begun    atomic.Int64
}

func (g *counting) Name() string { return "counting" }

func (g *counting) Registration() *abi.Registration { return &abi.Registration{Handlers: g.handlers} }

func (g *counting) Ask(context.Context, *abi.Questions, []byte, Env) (*abi.Answers, error) {
	return &abi.Answers{}, nil
}

func (g *counting) Start(context.Context, *abi.Invocation, []byte, Env) (Task, *abi.Step, error) {
	g.begun.Add(1)
	time.Sleep(g.takes)
	step := g.step
	return countingTask{}, &step, nil
}

// countingTask ends as soon as it is resumed.
type countingTask struct{ Task }

func (countingTask) Resume(context.Context, abi.Answer) (*abi.Step, error) {
	return &abi.Step{Step: abi.StepDone}, nil
}

func (countingTask) Cancel(context.Context) error { return nil }

func (countingTask) Release(context.Context) {}

// newCounting makes a guest with one daemon.
func newCounting(step abi.Step, takes time.Duration) *counting {
	resource := abi.Selector{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples"}
	return &counting{handlers: []abi.Handler{{Kind: abi.KindDaemon, ID: "daemon_fn", Resource: &resource}}, step: step, takes: takes}
}

// handlerOf is a handler of a guest, as its JSON declares it.
func handlerOf(t *testing.T, guest Guest, declaration string) *Handler {
	t.Helper()
	var spec abi.Handler
	if err := json.Unmarshal([]byte(declaration), &spec); err != nil {
		t.Fatal(err)
	}
	if spec.Kind == "" {
		spec.Kind = abi.KindCreate
	}
	h, err := newHandler(spec)
	if err != nil {
		t.Fatal(err)
	}
	h.starter, h.asker, h.fn = guest, guest, "fn-"+spec.ID
	return h
}

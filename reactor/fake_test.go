package reactor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/settings"
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

func (g *scripted) Name() string                    { return "scripted" }
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

// stage is one cause with handlers of a scripted guest, and a log to look at.
type stage struct {
	guest  *scripted
	cause  *cause
	memory *memory
	x      *execution
	log    bytes.Buffer
}

func newStage(t *testing.T, guest *scripted, body string) *stage {
	t.Helper()
	decoded, err := dicts.DecodeObject([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{guest: guest}
	log := zerolog.New(&s.log)
	config := settings.Default()
	s.memory = newMemories().recall("1", false)
	s.cause = newCause(&object{
		services: &services{base: newMemo(nil, nil), events: newEvents(config), indices: indexing.New(nil, nil)},
		raw:      []byte(body), body: decoded, memo: s.memory.memo, patch: newPatch(nil), log: logger{Logger: &log},
	}, &change{reason: causes.Create, new: decoded})
	s.x = &execution{settings: config, lifecycle: progression.ASAP, errors: modeTemporary}
	return s
}

// handler declares a handler of the guest by its JSON.
func (s *stage) handler(t *testing.T, declaration string) *Handler {
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
	h.starter, h.asker, h.fn = s.guest, s.guest, fmt.Sprintf("fn-%s", spec.ID)
	return h
}

// fresh is the state of a handler that has been attempted so many times, the
// first time so long ago.
func fresh(retries int, runtime time.Duration) progression.HandlerState {
	return progression.HandlerState{Active: true, Retries: retries, Started: time.Now().Add(-runtime)}
}

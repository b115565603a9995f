package daemons

import (
	"testing"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/memos"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// scene is an object with handlers of a scripted guest, and a log.
type scene struct {
	guest  *reactortest.Scripted
	cause  *handling.Cause
	memory Memory
	x      *handling.Execution
	log    reactortest.Output
}

func newScene(t *testing.T, guest *reactortest.Scripted, body string) *scene {
	t.Helper()
	decoded, err := dicts.DecodeObject([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{guest: guest}
	s.memory.NoteChange()
	log := zerolog.New(&s.log)
	s.cause = handling.NewCause(&handling.Object{
		Services: &handling.Services{Base: memos.New(nil, nil), Indices: indexing.New(nil, nil)},
		Raw:      []byte(body), Body: decoded, Memo: memos.New(nil, nil), Patch: patching.New(nil), Log: loggers.Logger{Logger: &log},
	}, nil)
	s.x = &handling.Execution{Settings: settings.Default(), Lifecycle: progression.ASAP, Errors: handling.ModeTemporary}
	return s
}

// handler declares a handler of the guest by its JSON.
func (s *scene) handler(t *testing.T, declaration string) *registries.Handler {
	t.Helper()
	return reactortest.HandlerOf(t, s.guest, declaration)
}

package reactor

import (
	"bytes"
	"testing"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/rs/zerolog"
)

// scene is an object with handlers of a scripted guest beside it, and a log to look at.
type scene struct {
	guest  *scripted
	cause  *cause
	memory backgroundMemory
	x      *execution
	log    bytes.Buffer
}

func newScene(t *testing.T, guest *scripted, body string) *scene {
	t.Helper()
	decoded, err := dicts.DecodeObject([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{guest: guest}
	s.memory.noteChange()
	log := zerolog.New(&s.log)
	s.cause = newCause(&object{
		services: &services{base: newMemo(nil, nil), indices: indexing.New(nil, nil)},
		raw:      []byte(body), body: decoded, memo: newMemo(nil, nil), patch: newPatch(nil), log: logger{Logger: &log},
	}, nil)
	s.x = &execution{settings: settings.Default(), lifecycle: progression.ASAP, errors: modeTemporary}
	return s
}

// handler declares a handler of the guest by its JSON.
func (s *scene) handler(t *testing.T, declaration string) *Handler {
	t.Helper()
	return handlerOf(t, s.guest, declaration)
}

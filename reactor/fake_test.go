package reactor

import (
	"bytes"
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

package reactor

import (
	"bytes"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// stage is one cause with handlers of a scripted guest, and a log to look at.
type stage struct {
	guest *scripted
	cause *cause
	x     *execution
	log   bytes.Buffer
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
	s.cause = newCause(&object{
		services: &services{base: newMemo(nil, nil), events: newEvents(config), indices: indexing.New(nil, nil)},
		raw:      []byte(body), body: decoded, memo: newMemo(nil, nil), patch: newPatch(nil), log: logger{Logger: &log},
	}, &change{reason: causes.Create, new: decoded})
	s.x = &execution{settings: config, lifecycle: progression.ASAP, errors: modeTemporary}
	return s
}

// handler declares a handler of the guest by its JSON.
func (s *stage) handler(t *testing.T, declaration string) *Handler {
	t.Helper()
	return handlerOf(t, s.guest, declaration)
}

// fresh is the state of a handler that has been attempted so many times, the
// first time so long ago.
func fresh(retries int, runtime time.Duration) progression.HandlerState {
	return progression.HandlerState{Active: true, Retries: retries, Started: time.Now().Add(-runtime)}
}

package handling

import (
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/events"
	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/memos"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// stage is one cause with handlers of a scripted guest, and a log.
type stage struct {
	guest *reactortest.Scripted
	cause *Cause
	x     *Execution
	log   reactortest.Output
}

func newStage(t *testing.T, guest *reactortest.Scripted, body string) *stage {
	t.Helper()
	decoded, err := dicts.DecodeObject([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{guest: guest}
	log := zerolog.New(&s.log)
	config := settings.Default()
	s.cause = NewCause(&Object{
		Services: &Services{Base: memos.New(nil, nil), Events: events.New(config), Indices: indexing.New(nil, nil)},
		Raw:      []byte(body), Body: decoded, Memo: memos.New(nil, nil), Patch: patching.New(nil), Log: loggers.Logger{Logger: &log},
	}, &Change{Reason: causes.Create, New: decoded})
	s.x = &Execution{Settings: config, Lifecycle: progression.ASAP, Errors: ModeTemporary}
	return s
}

// handler declares a handler of the guest by its JSON.
func (s *stage) handler(t *testing.T, declaration string) *registries.Handler {
	t.Helper()
	return reactortest.HandlerOf(t, s.guest, declaration)
}

// fresh returns the state of a handler after a number of attempts, the first of them at a
// time in the past.
func fresh(retries int, runtime time.Duration) progression.HandlerState {
	return progression.HandlerState{Active: true, Retries: retries, Started: time.Now().Add(-runtime)}
}

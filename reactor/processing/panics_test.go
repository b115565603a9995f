package processing

import (
	"context"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// broken is a guest whose calls are a defect of the host.
type broken struct{ reactortest.Instant }

func (broken) Start(context.Context, *abi.Invocation, []byte, guests.Env) (guests.Task, *abi.Step, error) {
	panic("broken")
}

// TestPanicsConcernOneObject: a panic throttles the object whose event caused it, and nothing of the cycle stays.
func TestPanicsConcernOneObject(t *testing.T) {
	resource := abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
	registry, err := registries.New(broken{reactortest.Instant{Handlers: []abi.Handler{{Kind: abi.KindCreate, ID: "fn", Resource: &resource}}}})
	if err != nil {
		t.Fatal(err)
	}
	p := newProcessor(registry, nil)
	p.Settings.Queueing.ErrorDelays.List = nil
	var log reactortest.Output
	p.Log = zerolog.New(&log)
	account := accounts.New(accounts.Limits{})
	p.Generation.Services.Account = account
	event := watching.Event{Type: watching.Added, Object: reactortest.NewObject(0), Meta: watching.Meta{UID: "uid"}}
	for range 2 {
		p.handleOne(t.Context(), queueing.Item{Event: event}, queueing.Alone())
	}
	for _, part := range []string{"Handling has failed: a defect of the host: broken", "processing.broken.Start"} {
		if strings.Count(log.String(), part) < 2 {
			t.Errorf("the log has no %q:\n%s", part, &log)
		}
	}
	if held := reactortest.Held(account, accounts.Pending); held != 0 {
		t.Errorf("%d bytes are held afterwards", held)
	}
}

// TestPanicsReleaseTasks: what was left over for the cycle is not applied any more, so its task gives back its instance.
func TestPanicsReleaseTasks(t *testing.T) {
	resource := abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
	registry, err := registries.New(broken{reactortest.Instant{Handlers: []abi.Handler{{Kind: abi.KindEvent, ID: "fn", Resource: &resource}}}})
	if err != nil {
		t.Fatal(err)
	}
	p, guest := newProcessor(registry, nil), &reactortest.Scripted{Alive: 1}
	p.Settings.Queueing.ErrorDelays.List = nil
	p.Memories.recall("uid", false).leave(p.Resource.Key(), []patching.Transformation{{Task: &reactortest.ScriptedTask{Guest: guest}}})
	p.handleOne(t.Context(), queueing.Item{Event: watching.Event{Type: watching.Modified, Object: reactortest.NewObject(0), Meta: watching.Meta{UID: "uid"}}}, queueing.Alone())
	if guest.Alive != 0 {
		t.Error("the task is not released")
	}
}

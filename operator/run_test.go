package operator

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/operator/apiserver"
	"github.com/kopf-wasm/kopf/operator/guesttest"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// starting is a guest whose startup handler changes a setting.
type starting struct{ calls int }

func (*starting) Name() string { return "starting" }

func (*starting) Registration() *abi.Registration {
	return &abi.Registration{Handlers: []abi.Handler{{Kind: abi.KindStartup, ID: "startup_fn"}}}
}

func (*starting) Ask(context.Context, *abi.Questions, []byte, guests.Env) (*abi.Answers, error) {
	return nil, errors.New("there is nothing to ask")
}

func (g *starting) Start(context.Context, *abi.Invocation, []byte, guests.Env) (guests.Task, *abi.Step, error) {
	g.calls++
	return settled{}, &abi.Step{Step: abi.StepDone, Outcome: abi.Outcome{Settings: map[string]abi.Raw{"posting.level": abi.Raw("40")}}}, nil
}

// settled is a task that has ended.
type settled struct{ guests.Task }

func (settled) Release(context.Context) {}

// TestRunsOnceWithOptionsOfItsOwn: nothing of the options is changed, whatever the command
// line and the startup handlers set; and an operator that has run does not run again.
func TestRunsOnceWithOptionsOfItsOwn(t *testing.T) {
	guest, own, five := &starting{}, settings.Default(), 5
	before, err := own.JSON()
	if err != nil {
		t.Fatal(err)
	}
	refusal := errors.New("no login")
	op, err := New(t.Context(), Options{
		Guests: []guests.Guest{guest}, Settings: own, Peering: Peering{Priority: &five}, Log: zerolog.Nop(),
		Login: func(context.Context) (*credentials.Info, error) { return nil, refusal },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := op.Run(t.Context()); err == nil || errors.Is(err, ErrRunTwice) {
		t.Errorf("the first run: %v, want that there are no credentials", err)
	}
	for range 2 {
		if err := op.Run(t.Context()); !errors.Is(err, ErrRunTwice) {
			t.Errorf("one more run: %v", err)
		}
	}
	if guest.calls != 1 {
		t.Errorf("the startup handler was called %d times", guest.calls)
	}
	if after, err := own.JSON(); err != nil || string(after) != string(before) || own.Peering.Clusterwide != nil {
		t.Errorf("the caller's settings have changed: %v\n%s\n%s", err, before, after)
	}
}

// An empty name, as of a variable that is not set, is not the whole cluster.
func TestNamespacesHaveNames(t *testing.T) {
	if _, err := New(t.Context(), Options{Guests: []guests.Guest{&starting{}}, Namespaces: []string{"a", ""}}); err == nil {
		t.Error("an empty name is accepted")
	}
}

// TestErrorsOfRun: the end of the context is no failure, and hides none.
func TestErrorsOfRun(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	missing := filepath.Join(t.TempDir(), "missing.wasm")
	if err := Run(over, Options{Modules: []string{missing}, Log: zerolog.Nop()}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing module: %v", err)
	}
	never := func(ctx context.Context) (*credentials.Info, error) { return nil, ctx.Err() }
	if err := Run(over, Options{Guests: []guests.Guest{&starting{}}, Login: never, Log: zerolog.Nop()}); err != nil {
		t.Errorf("a context that has ended: %v", err)
	}
}

// TestAnOperatorThatDoesNotEndIsClosed: its author chooses how long its end takes. In a process with other operators, nothing of it stays.
func TestAnOperatorThatDoesNotEndIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guest := &guesttest.Guest{
			Handlers: []abi.Handler{{Kind: abi.KindCleanup, ID: "fn"}},
			Do:       map[string]guesttest.Handler{"fn": func(*guesttest.Call, *abi.Answer) *abi.Step { return guesttest.Wait(1e6) }},
		}
		ctx, stop := context.WithCancel(t.Context())
		op, err := New(ctx, inMemory(apiserver.New(nil), Options{Guests: []guests.Guest{guest}}))
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		op.Start(ctx, func(err error) { ended <- err })
		<-op.Ready()
		stop()
		if err := <-ended; !errors.Is(err, ErrExitTimeout) {
			t.Errorf("it has ended: %v", err)
		}
		time.Sleep(time.Minute)
		op.mu.Lock()
		defer op.mu.Unlock()
		if !op.closed {
			t.Error("its modules are not closed")
		}
	})
}

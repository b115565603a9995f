package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/stores"
)

// native is a guest without WebAssembly: a handler of creations in Go.
type native struct {
	name    string
	created func(name string, env guests.Env) error
}

func (n native) Name() string { return n.name }

func (n native) Registration() *abi.Registration {
	return &abi.Registration{Handlers: []abi.Handler{{Kind: abi.KindCreate, ID: "created", Fn: "created", Resource: &abi.Selector{Args: []abi.Raw{abi.Raw(`"kopfexamples"`)}}}}}
}

func (n native) Start(_ context.Context, inv *abi.Invocation, _ []byte, env guests.Env) (guests.Task, *abi.Step, error) {
	if err := n.created(inv.Name, env); err != nil {
		return nil, nil, err
	}
	return done{}, &abi.Step{Step: abi.StepDone, Outcome: abi.Outcome{Result: abi.Raw(fmt.Sprintf("%q", n.name))}}, nil
}

func (native) Ask(context.Context, *abi.Questions, []byte, guests.Env) (*abi.Answers, error) {
	return nil, errors.New("there is nothing to ask")
}

// done is a task that has ended.
type done struct{ native }

func (done) Resume(context.Context, abi.Answer) (*abi.Step, error) {
	return nil, errors.New("it has ended")
}
func (done) Cancel(context.Context) error                      { return nil }
func (done) Transform(context.Context, []byte) ([]byte, error) { return nil, errors.New("it has none") }
func (done) Release(context.Context)                           {}

// embedded runs an operator of a program, until the test ends.
func (s space) embedded(t *testing.T, o operator.Options) (*operator.Operator, func() error) {
	t.Helper()
	o.Namespaces, o.Log = []string{s.namespace}, zerolog.New(zerolog.NewTestWriter(t))
	o.Login = func(context.Context) (*credentials.Info, error) {
		return &credentials.Info{Config: s.RESTConfig(), DefaultNamespace: s.namespace}, nil
	}
	op, err := operator.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- op.Run(context.WithoutCancel(t.Context())) }() // Waited for by the clean-up.
	stop := sync.OnceValue(func() error {
		op.Stop()
		return <-ended
	})
	t.Cleanup(func() { _ = stop() }) // tests that need the error have asked for it
	return op, stop
}

// apart are settings that make an operator keep its state for itself.
func apart(name string) *settings.Settings {
	s := settings.Default()
	s.Persistence.Finalizer = name + ".example.com/finalizer"
	s.Persistence.Progress = stores.NewStatusProgress(stores.StatusProgressOptions{Name: name})
	s.Persistence.DiffBase = stores.NewStatusDiffBase(stores.StatusDiffBaseOptions{Name: name})
	return s
}

// TestTwoOperatorsInOneProcess: each has handlers, settings, memo and an end of its own;
// both handle each object.
func TestTwoOperatorsInOneProcess(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	memo := &operator.Memo{}
	if err := memo.Set("greeting", "hello"); err != nil {
		t.Fatal(err)
	}
	first, stop := s.embedded(t, operator.Options{
		Memo: memo, Settings: apart("first"), Guests: []guests.Guest{native{"first", func(name string, env guests.Env) error {
			greeting, _, _ := env.MemoGet(1, "greeting")
			_, err := env.MemoSet(1, name, greeting, -1)
			return err
		}}},
	})
	second, _ := s.embedded(t, operator.Options{
		Settings: apart("second"), Guests: []guests.Guest{native{"second", func(_ string, env guests.Env) error {
			if _, _, found := env.MemoGet(1, "greeting"); found {
				return errors.New("this is the memo of the first one")
			}
			return nil
		}}},
	})
	for _, op := range []*operator.Operator{first, second} {
		select {
		case <-op.Ready():
		case <-time.After(patience):
			t.Fatal("it is not ready")
		}
	}
	s.create(t, "obj", "{}")
	handledBy := func(name string, operators ...string) {
		t.Helper()
		s.until(t, fmt.Sprintf("%s is handled by %q", name, operators), func() bool {
			status, _ := s.get(t, name).Object["status"].(map[string]any)
			missing := slices.DeleteFunc(slices.Clone(operators), func(operator string) bool {
				own, _ := status[operator].(map[string]any)
				return own["last-handled-configuration"] != nil
			})
			return len(missing) == 0
		})
	}
	handledBy("obj", "first", "second")
	var said string
	s.until(t, "the memo is filled", func() bool {
		found, err := memo.Get("obj", &said)
		return err == nil && found
	})
	if said != "hello" {
		t.Errorf("the memo says %q", said)
	}
	if err := stop(); err != nil {
		t.Errorf("the first one ended with %v", err)
	}
	s.create(t, "later", "{}")
	handledBy("later", "second")
	if status := s.get(t, "later").Object["status"].(map[string]any); status["first"] != nil || status["created"] != "second" {
		t.Errorf("the first one still runs: %v", status)
	}
}

// TestOverlap: two operators that would take each other's state for their own are not
// run; the error names both.
func TestOverlap(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	quiet := func(string, guests.Env) error { return nil }
	first, stop := s.embedded(t, operator.Options{Name: "the first", Guests: []guests.Guest{native{"a", quiet}}})
	<-first.Ready()
	s.create(t, "obj", "{}")
	s.handled(t, "obj")
	second, err := operator.New(t.Context(), operator.Options{
		Name: "the second", Guests: []guests.Guest{native{"b", quiet}}, Namespaces: []string{s.namespace}, Log: zerolog.Nop(),
		Login: func(context.Context) (*credentials.Info, error) {
			return &credentials.Info{Config: s.RESTConfig(), DefaultNamespace: s.namespace}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	err = second.Run(t.Context())
	if !errors.Is(err, operator.ErrOverlap) || !strings.Contains(err.Error(), "the second and the first both handle kopfexamples.kopf.dev with the same finalizer") {
		t.Errorf("got %v", err)
	}
	if err := stop(); err != nil {
		t.Errorf("the first one ended with %v", err)
	}
	third, _ := s.embedded(t, operator.Options{Name: "the third", Guests: []guests.Guest{native{"c", quiet}}})
	<-third.Ready()
	s.patch(t, "obj", `{"metadata":{"annotations":{"kopf.zalando.org/last-handled-configuration":null}}}`)
	s.handled(t, "obj")
}

package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
)

// team is a guest for the objects with its name in the label "team".
type team struct {
	native
	mu   sync.Mutex // guards seen
	seen []string   // kinds of handlers with the names of the objects
}

func (g *team) Registration() *abi.Registration {
	r := &abi.Registration{}
	for _, kind := range []abi.Kind{abi.KindCreate, abi.KindResume, abi.KindDelete} {
		r.Handlers = append(r.Handlers, abi.Handler{
			Kind: kind, ID: string(kind), Fn: string(kind), Resource: &abi.Selector{Args: []abi.Raw{abi.Raw(`"kopfexamples"`)}},
			Labels: map[string]abi.Raw{"team": abi.Raw(fmt.Sprintf("%q", g.name))},
		})
	}
	return r
}

func (g *team) Start(_ context.Context, inv *abi.Invocation, _ []byte, _ guests.Env) (guests.Task, *abi.Step, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seen = append(g.seen, inv.ID+" "+inv.Name)
	return done{}, &abi.Step{Step: abi.StepDone}, nil
}

// has reports whether a handler was called for an object.
func (g *team) has(call string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Contains(g.seen, call)
}

// Operators whose handlers require labels share a watch. Each one handles the objects that get
// its label, gives up those that lose it, and removes its finalizer from both.
func TestSharedWatchesOfTeams(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	all := s.sharers(t)
	run := func(g *team) (stop func() error) {
		var log reactortest.Output
		_, stop = s.embedded(t, operator.Options{
			Settings: apart(g.name), Watches: all.watches, Guests: []guests.Guest{g}, Log: zerolog.New(&log),
		})
		return stop
	}
	holds := func(name string, finalizers ...string) func() bool {
		return func() bool { return slices.Equal(s.get(t, name).GetFinalizers(), finalizers) }
	}
	move := func(name, to string) { s.patch(t, name, fmt.Sprintf(`{"metadata":{"labels":{"team":%q}}}`, to)) }
	const ofRed, ofBlue = "red.example.com/finalizer", "blue.example.com/finalizer"
	red, blue := &team{native: native{name: "red"}}, &team{native: native{name: "blue"}}

	s.create(t, "older", "{}")
	run(red)
	stop := run(blue)
	s.create(t, "mine", "{}")
	move("mine", "red")
	s.until(t, "the label is noticed", func() bool { return red.has("create mine") && holds("mine", ofRed)() })
	move("mine", "blue")
	s.until(t, "both operators notice the other label", func() bool { return blue.has("create mine") && holds("mine", ofBlue)() })
	move("older", "red")
	s.until(t, "an object from before the start is noticed", func() bool { return red.has("create older") && holds("older", ofRed)() })

	restart := func() {
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		blue = &team{native: native{name: "blue"}}
		stop = run(blue)
	}
	move("mine", "nobody")
	restart()
	s.until(t, "a finalizer from an earlier run is removed", holds("mine"))
	restart()
	s.create(t, "new", "{}")
	move("new", "blue")
	s.until(t, "the operator works", func() bool { return blue.has("create new") })
	move("mine", "blue")
	s.until(t, "an object from before the start is resumed", func() bool { return blue.has("resume mine") })
	s.remove(t, "older")
	s.gone(t, "older")
	if !red.has("delete older") || blue.has("delete older") {
		t.Error("the wrong operator has handled the deletion")
	}
	if red.has("delete mine") || blue.has("create mine") || blue.has("resume new") {
		t.Errorf("the wrong handlers were called: %q, %q", red.seen, blue.seen)
	}
}

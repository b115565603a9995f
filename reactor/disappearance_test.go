package reactor

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// watchful is a guest with a daemon that waits until it is stopped, an index, and a handler
// of raw events.
type watchful struct {
	mu      sync.Mutex // guards the fields below
	reasons []string   // why daemons were stopped
	deleted int        // raw events of deletions
	slow    bool       // handlers of deletions wait for an hour
}

func (g *watchful) Name() string { return "watchful" }

func (g *watchful) Registration() *abi.Registration {
	resource := &abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
	return &abi.Registration{Handlers: []abi.Handler{
		{Kind: abi.KindDaemon, ID: "daemon_fn", Resource: resource}, {Kind: abi.KindEvent, ID: "event_fn", Resource: resource}, {Kind: abi.KindIndex, ID: "index_fn", Resource: resource},
	}}
}

func (g *watchful) Ask(context.Context, *abi.Questions, []byte, guests.Env) (*abi.Answers, error) {
	return &abi.Answers{}, nil
}

func (g *watchful) Start(_ context.Context, inv *abi.Invocation, _ []byte, _ guests.Env) (guests.Task, *abi.Step, error) {
	switch {
	case inv.Kind == abi.KindDaemon:
		return watchfulTask{guest: g}, &abi.Step{Step: abi.StepWait, Stoppable: true}, nil
	case inv.Kind == abi.KindIndex:
		return watchfulTask{}, &abi.Step{Step: abi.StepDone, Outcome: abi.Outcome{Result: abi.Raw(`{"key":"value"}`)}}, nil
	case inv.EventType == nil || *inv.EventType != watching.Deleted:
		return watchfulTask{}, &abi.Step{Step: abi.StepDone}, nil
	case g.slow:
		hour := 3600.0
		return watchfulTask{}, &abi.Step{Step: abi.StepWait, Seconds: &hour}, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.deleted++
	return watchfulTask{}, &abi.Step{Step: abi.StepDone}, nil
}

type watchfulTask struct {
	guests.Task
	guest *watchful // of a daemon
}

func (t watchfulTask) Resume(_ context.Context, a abi.Answer) (*abi.Step, error) {
	if t.guest != nil {
		t.guest.mu.Lock()
		defer t.guest.mu.Unlock()
		t.guest.reasons = append(t.guest.reasons, fmt.Sprint(a.Stopped))
	}
	return &abi.Step{Step: abi.StepDone}, nil
}

func (watchfulTask) Cancel(context.Context) error { return nil }

func (watchfulTask) Release(context.Context) {}

// TestResourcesThatGoAwayTakeTheirObjectsAlong checks that the objects of a stream are
// handled as deleted when it ends because its resource is gone, even if their handlers take
// too long. If the resource still exists, daemons and memories stay for the next stream.
func TestResourcesThatGoAwayTakeTheirObjectsAlong(t *testing.T) {
	const objects = 20
	for name, tt := range map[string]struct{ gone, slow bool }{
		"the resource is gone":                       {gone: true},
		"it is gone, and its deletions are not over": {gone: true, slow: true},
		"it exists, but is not served":               {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				guest := &watchful{slow: tt.slow}
				op, end := oneStream(t, &store{objects: objects}, guest, nil)
				op.streams.Gone = func(d dimensions.Dimension) bool { return tt.gone && d.Resource.Plural == "kopfexamples" }
				time.Sleep(time.Minute)
				if c := op.counts(); c != [3]int{objects, objects, objects} {
					t.Fatalf("objects, daemons and indexed objects at first: %d", c)
				}
				end()
				time.Sleep(time.Minute)
				want, reasons, deleted := [3]int{}, slices.Repeat([]string{"[resource_deleted]"}, objects), objects
				if !tt.gone {
					want, reasons = [3]int{objects, objects, objects}, nil
				}
				if !tt.gone || tt.slow {
					deleted = 0
				}
				if c := op.counts(); c != want {
					t.Errorf("objects, daemons and indexed objects are left: %d, want %d", c, want)
				}
				if !slices.Equal(guest.reasons, reasons) || guest.deleted != deleted {
					t.Errorf("%d deletions, want %d; daemons were stopped for %v, want %v", guest.deleted, deleted, guest.reasons, reasons)
				}
				op.runnables.End()
			})
		})
	}
}

// counts returns how many objects are remembered, daemons run, and objects are indexed.
func (op *Operator) counts() [3]int {
	return [3]int{op.memories.Count(), op.runnables.Count(), op.generations.Present().Services.Indices.Len()}
}

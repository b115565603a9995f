package reactor

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/calls"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// newTestGeneration makes a generation with an index of apples.
func newTestGeneration(t *testing.T, number uint32) *generation {
	t.Helper()
	registry, err := NewRegistry(instant{handlers: []abi.Handler{{Kind: abi.KindIndex, ID: "index_fn", Resource: &abi.Selector{Plural: "apples"}}}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := newGeneration(number, registry, services{}, calls.New(calls.Options{}, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A generation is over when nobody holds it any more; whoever comes later gets the next.
func TestEditionsAreHeld(t *testing.T) {
	first, second := newTestGeneration(t, 0), newTestGeneration(t, 1)
	synctest.Test(t, func(t *testing.T) {
		s := &generations{}
		s.replace(first)
		working, sleeping := s.hold(), s.hold()
		if s.replace(second) != first || !first.replaced.Load() || second.replaced.Load() {
			t.Error("the first one is not replaced")
		}
		over := false
		go func() {
			first.holders.Wait()
			over = true
		}()
		if late := s.hold(); late != second {
			t.Error("the first one is still given")
		}
		working.release()
		synctest.Wait()
		if over {
			t.Error("it is over while it is held")
		}
		sleeping.release()
		synctest.Wait()
		if !over {
			t.Error("it is not over")
		}
	})
}

// What waited for indices that will never be complete begins anew, with those of the next
// generation, which wait for the same streams.
func TestGatesOfReplacedEditions(t *testing.T) {
	apples := dimension{resource: selectors.Resource{Plural: "apples", Preferred: true}}
	pears := dimension{resource: selectors.Resource{Plural: "pears", Preferred: true}}
	first, second := newTestGeneration(t, 0), newTestGeneration(t, 1)
	s := &generations{}
	s.replace(first)
	first.await(apples)
	first.await(pears) // are not indexed
	second.inherit(first)
	second.await(apples) // which it does already
	s.replace(second)
	if err := first.indexed.wait(t.Context()); !errors.Is(err, errReplaced) {
		t.Errorf("the first gate: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := second.indexed.wait(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the second gate does not wait: %v", err)
	}
	if second.gateOf(pears) != nil {
		t.Error("it waits for what is not indexed")
	}
	gate := second.gateOf(apples)
	if gate == nil || second.gateOf(apples) != nil {
		t.Fatal("there is not one stream to wait for")
	}
	gate.done()
	if err := second.indexed.wait(ended); err != nil {
		t.Errorf("the second gate is not open: %v", err)
	}
	s.replace(newTestGeneration(t, 2))
	if err := second.indexed.wait(ended); err != nil {
		t.Errorf("an open gate has closed: %v", err)
	}
}

package generations

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/calls"
	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// newTestGeneration makes a generation with an index of apples.
func newTestGeneration(t *testing.T, number uint32) *Generation {
	t.Helper()
	registry, err := registries.New(reactortest.Instant{Handlers: []abi.Handler{{Kind: abi.KindIndex, ID: "index_fn", Resource: &abi.Selector{Plural: "apples"}}}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(number, registry, handling.Services{}, calls.New(calls.Options{}, nil))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A generation is over when it has no holders; later holders get the next one.
func TestGenerationsAreHeld(t *testing.T) {
	first, second := newTestGeneration(t, 0), newTestGeneration(t, 1)
	synctest.Test(t, func(t *testing.T) {
		s := &Generations{}
		s.Replace(first)
		working, sleeping := s.Hold(), s.Hold()
		if s.Replace(second) != first || !first.Replaced.Load() || second.Replaced.Load() {
			t.Error("the first one is not replaced")
		}
		over := false
		go func() {
			first.Holders.Wait()
			over = true
		}()
		if late := s.Hold(); late != second {
			t.Error("the first one is still given")
		}
		working.Release()
		synctest.Wait()
		if over {
			t.Error("it is over while it is held")
		}
		sleeping.Release()
		synctest.Wait()
		if !over {
			t.Error("it is not over")
		}
	})
}

// Events that wait for indices that never become complete start again with the next
// generation. Its indices wait for the same streams.
func TestGatesOfReplacedGenerations(t *testing.T) {
	apples := dimensions.Dimension{Resource: selectors.Resource{Plural: "apples", Preferred: true}}
	pears := dimensions.Dimension{Resource: selectors.Resource{Plural: "pears", Preferred: true}}
	first, second := newTestGeneration(t, 0), newTestGeneration(t, 1)
	s := &Generations{}
	s.Replace(first)
	first.Await(apples)
	first.Await(pears) // pears are not indexed
	second.Inherit(first)
	second.Await(apples) // it already waits for them
	s.Replace(second)
	if err := first.Indexed.Wait(t.Context()); !errors.Is(err, indexing.ErrReplaced) {
		t.Errorf("the first gate: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := second.Indexed.Wait(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the second gate does not wait: %v", err)
	}
	if second.GateOf(pears) != nil {
		t.Error("it waits for what is not indexed")
	}
	gate := second.GateOf(apples)
	if gate == nil || second.GateOf(apples) != nil {
		t.Fatal("there is not one stream to wait for")
	}
	gate.Done()
	if err := second.Indexed.Wait(ended); err != nil {
		t.Errorf("the second gate is not open: %v", err)
	}
	s.Replace(newTestGeneration(t, 2))
	if err := second.Indexed.Wait(ended); err != nil {
		t.Errorf("an open gate has closed: %v", err)
	}
}

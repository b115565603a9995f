package streams

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/pauses"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// TestHandlersDoNotWaitForListingsThatWereCutOff: a namespace goes away, or the definition of a resource changes, while its objects are
// listed for an index. All handlers would wait for ever. They do if the operator ends: they would find too little in the indices.
func TestHandlersDoNotWaitForListingsThatWereCutOff(t *testing.T) {
	for name, ends := range map[string]bool{"the namespace is gone": false, "the operator ends": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, ending := newScene(t, silent{}, newNoting()), make(chan struct{})
				s.Ending = ending
				done, indices := s.awaitOther(), s.Generations.Present().Indexed
				leave := s.serve(t)
				synctest.Wait()
				done()
				if indices.IsOpen() {
					t.Error("the indices count as complete before all objects are listed")
				}
				if ends {
					close(ending)
				}
				leave()
				if indices.IsOpen() == ends {
					t.Errorf("handlers wait: %t", !indices.IsOpen())
				}
			})
		})
	}
}

// TestHandlersDoNotWaitForReloadsThatWereCutOff: the same for the listings after a reload.
func TestHandlersDoNotWaitForReloadsThatWereCutOff(t *testing.T) {
	for name, ends := range map[string]bool{"the namespace is gone": false, "the operator ends": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, ending := newPart(t, abi.KindIndex), make(chan struct{})
				reading, cancel := context.WithCancel(t.Context())
				p.reading, p.common.Pauses, p.common.Ending, p.watch = reading, pauses.New(), ending, &watching.Stream{}
				p.common.Pauses.Set(pauses.Reason{}, true)
				e := p.common.Generations.Present()
				e.Await(p.Dimension)
				p.Again(t.Context(), e.GateOf(p.Dimension))
				if ends {
					close(ending)
				}
				cancel()
				synctest.Wait()
				if e.Indexed.IsOpen() == ends {
					t.Errorf("handlers wait: %t", !e.Indexed.IsOpen())
				}
			})
		})
	}
}

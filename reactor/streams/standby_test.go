package streams

import (
	"testing"
	"testing/synctest"

	"github.com/kopf-wasm/kopf/reactor/generations"
	"github.com/kopf-wasm/kopf/reactor/pauses"
	"github.com/kopf-wasm/kopf/reactor/signals"
)

// TestReplicasThatStandByFillNewIndices: the module is replaced in a replica that stands by. Its admission handlers look into the new
// indices at once. Handlers of raw events are not called there.
func TestReplicasThatStandByFillNewIndices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guest := newNoting()
		s := newScene(t, stocked(1), guest)
		s.Leader = &Leader{Led: signals.New()}
		s.Pauses.Set(pauses.Reason{Standby: true}, true)
		before, after := s.Generations.Present(), generationOf(t, guest, 1)
		leave := s.serve(t)
		synctest.Wait()
		s.Generations.Replace(after)
		s.Streams.Each(func(stream *Stream) {
			after.Await(s.dimension)
			stream.Again(t.Context(), after.GateOf(s.dimension))
		})
		synctest.Wait()
		for name, e := range map[string]*generations.Generation{"the first": before, "the next": after} {
			if pairs := e.Services.Indices.Len(); pairs != 1 || !e.Indexed.IsOpen() {
				t.Errorf("%s module has %d indexed objects; all are indexed: %t", name, pairs, e.Indexed.IsOpen())
			}
		}
		if len(guest.types) > 0 {
			t.Errorf("raw events are handled: %v", guest.types)
		}
		leave()
	})
}

package streams

import (
	"testing"
	"testing/synctest"

	"github.com/kopf-wasm/kopf/reactor/signals"
)

// TestLeadersWaitForAllIndices: a stream lists its objects twice in a replica that becomes the leader. The second time, the indices
// still wait for the other streams.
func TestLeadersWaitForAllIndices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, stocked(0), newNoting())
		s.Leader = &Leader{Led: signals.New()}
		done, indices := s.awaitOther(), s.Generations.Present().Indexed
		leave := s.serve(t)
		synctest.Wait()
		s.Leader.Led.Give()
		synctest.Wait()
		if indices.IsOpen() {
			t.Error("the indices count as complete before all objects are listed")
		}
		done()
		if !indices.IsOpen() {
			t.Error("the indices are never complete")
		}
		leave()
	})
}

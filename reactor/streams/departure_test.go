package streams

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// TestNamespacesThatAreNotServedAnyMore: the objects of a namespace that exists are not deleted, though the operator forgets them.
func TestNamespacesThatAreNotServedAnyMore(t *testing.T) {
	for name, gone := range map[string]bool{"deleted": true, "not selected": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				guest := newNoting()
				s := newScene(t, stocked(1), guest)
				s.Streams = &Set{Gone: func(dimensions.Dimension) bool { return gone }, Left: func(dimensions.Dimension) bool { return !gone }}
				indices, leave := s.Generations.Present().Services.Indices, s.serve(t)
				synctest.Wait()
				if pairs := indices.Len(); pairs != 1 {
					t.Errorf("%d objects are indexed at first", pairs)
				}
				leave()
				want := []string{"listed"}
				if gone {
					want = append(want, watching.Deleted)
				}
				if len(s.Streams.left) > 0 {
					t.Error("the identities of the objects are kept")
				}
				if !slices.Equal(guest.types, want) || s.Memories.Count() != 0 || indices.Len() != 0 {
					t.Errorf("the events are %v; %d objects are remembered, and %d indexed", guest.types, s.Memories.Count(), indices.Len())
				}
			})
		})
	}
}

package takeover_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const peeringObject = `
apiVersion: kopf.dev/v1
kind: KopfPeering
metadata: {name: default}
`

// Side by side, the operator with the lower priority pauses while the other one
// runs, whichever of them it is.
func TestPausingForEachOther(t *testing.T) {
	s := newStory(t, newInterpreter(t))
	s.cluster.ApplyIn(t, s.namespace, peeringObject)
	peerings := s.cluster.Resource(t, schema.GroupVersionKind{Group: "kopf.dev", Version: "v1", Kind: "KopfPeering"}, s.namespace)
	peers := func(count int) {
		t.Helper()
		eventually(t, fmt.Sprintf("%d peers", count), func() bool {
			got, err := peerings.Get(t.Context(), "default", metav1.GetOptions{})
			if err != nil {
				return false
			}
			status, _ := got.Object["status"].(map[string]any)
			return len(status) == count
		})
	}
	handled := func(by, name string) {
		t.Helper()
		s.create(t, name, "{easy: true}")
		s.expect(t, by, "create_fn", name, 0)
	}
	for turn, pair := range [][2]string{{"guest", "reference"}, {"reference", "guest"}} {
		low, high := pair[0], pair[1]
		s.peering, s.priorities = "default", map[string]int{low: 1, high: 2}
		stopLow := s.start(t, low)
		handled(low, low+"-alone")
		stopHigh := s.start(t, high)
		peers(2)
		eventually(t, low+" to pause", func() bool { return len(s.log.With("Pausing operations in favour of")) > turn })
		handled(high, low+"-pauses")
		time.Sleep(time.Second) // for calls that should not be there
		stopHigh()
		peers(1)
		handled(low, low+"-resumes")
		stopLow()
		peers(0)
	}
	s.compare(t, sorted)
}

// When the peering object is deleted, the operator that pauses stays paused, and the other
// one works on: they cannot see each other, but both live. When the object is there again,
// and the other one has gone, it resumes.
func TestPeeringObjectDeletedInPause(t *testing.T) {
	for _, pair := range [][2]string{{"guest", "reference"}, {"reference", "guest"}} {
		low, high := pair[0], pair[1]
		t.Run(low+" pauses", func(t *testing.T) {
			s := newStory(t, newInterpreter(t))
			s.cluster.ApplyIn(t, s.namespace, peeringObject)
			peerings := s.cluster.Resource(t, schema.GroupVersionKind{Group: "kopf.dev", Version: "v1", Kind: "KopfPeering"}, s.namespace)
			s.peering, s.priorities = "default", map[string]int{low: 1, high: 2}
			handled := func(by, name string) {
				t.Helper()
				s.create(t, name, "{easy: true}")
				s.expect(t, by, "create_fn", name, 0)
			}
			stopLow := s.start(t, low)
			handled(low, "alone")
			stopHigh := s.start(t, high)
			eventually(t, low+" to pause", func() bool { return len(s.log.With("Pausing operations in favour of")) > 0 })
			if err := peerings.Delete(t.Context(), "default", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second) // for what should not happen
			handled(high, "deleted")
			time.Sleep(time.Second)
			if slices.Contains(s.calls.all(), call{low, "create_fn", "deleted", 0}) {
				t.Errorf("%s works, too, while the peering object is deleted", low)
			}
			stopHigh()
			s.cluster.ApplyIn(t, s.namespace, peeringObject)
			handled(low, "again")
			stopLow()
		})
	}
}

package progression

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// States of any number of handlers find them, keep their order, and do not change each other.
func TestStatesOfAnyNumberOfHandlers(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, count := range []int{0, 1, few - 1, few, few + 1, 5 * few} {
		var ids []string
		for n := range count {
			ids = append(ids, fmt.Sprint("fn", n))
		}
		first := State{}.WithPurpose("create").WithHandlers(ids, now)
		outcomes := map[string]Outcome{}
		for _, id := range ids {
			outcomes[id] = Outcome{Final: true}
		}
		done, err := first.WithOutcomes(outcomes, now)
		if err != nil {
			t.Fatal(err)
		}
		second := first.WithPurpose("update", ids...)
		more := first.WithHandlers([]string{"a", "b"}, now)
		other := first.WithHandlers([]string{"b", "fn0"}, now)
		if !slices.Equal(first.IDs(), ids) || !slices.Equal(more.IDs(), append(slices.Clone(ids), "a", "b")) {
			t.Errorf("%d handlers: got the ids %v and %v", count, first.IDs(), more.IDs())
		}
		if got := other.Handler("b"); !got.Active || other.Handler("a").Active || first.Handler("b").Active {
			t.Errorf("%d handlers: the states share a handler", count)
		}
		for _, id := range ids {
			if first.Handler(id).Success || !done.Handler(id).Success || first.Handler(id).Purpose != "create" || second.Handler(id).Purpose != "update" {
				t.Errorf("%d handlers: %s is %+v, then %+v", count, id, first.Handler(id), done.Handler(id))
			}
		}
		if got := (Counts{Success: count}); done.Counts() != got || !slices.Equal(first.Awakened(ids, now), ids) && count > 0 || len(done.Awakened(ids, now)) > 0 {
			t.Errorf("%d handlers: got %+v", count, done.Counts())
		}
		if _, err := first.WithOutcomes(map[string]Outcome{"unknown": {}}, now); err == nil {
			t.Errorf("%d handlers: the outcome of an unknown handler is no error", count)
		}
	}
}

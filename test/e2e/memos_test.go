package e2e_test

import (
	"fmt"
	"testing"
)

// TestMemosLoseNoUpdates: a daemon, a timer and a handler of changes count in the memo
// of one object at the same time, each on an instance of its own.
func TestMemosLoseNoUpdates(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.startLiving(t, "daemon timer create", options{config: map[string]string{"options": `{"interval":0.01}`}})
	s.create(t, "obj1", "{do: count}")
	s.create(t, "obj2", "{}")
	for _, id := range []string{"daemonFn", "createFn"} {
		op.until(t, id+" has counted", func() bool { return op.lines(`"counted":"`+id+`"`) == 50 })
	}
	op.until(t, "the timer has counted", func() bool { return op.lines(`"counted":"timerFn"`) >= 10 })
	s.patch(t, "obj1", `{"spec":{"do":"sum"}}`)
	op.until(t, "the timer tells the sum", func() bool { return op.lines(`"sum"`) > 0 })
	want := fmt.Sprintf(`{"sum":%d}`, op.lines(`"counted"`))
	if got := op.stdout.With(`"sum"`)[0]; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	s.patch(t, "obj2", `{"spec":{"do":"sum"}}`)
	op.until(t, "the other object has a memo of its own", func() bool { return op.lines(`"sum":0`) > 0 })
}

// TestMemosHoldJSON: what is not is refused, and the handler that tried it has failed.
func TestMemosHoldJSON(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.startLiving(t, "create", options{config: map[string]string{"options": `{"retries":1}`}})
	s.create(t, "obj1", "{do: memo garbage}")
	op.says(t, "obj1", `failed with an exception and will stop now (it would exceed 1 retries on the next attempt): the memo's key "x": the value is not JSON`)
	s.handled(t, "obj1")
}

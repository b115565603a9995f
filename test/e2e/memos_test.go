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
	op := s.beside(t, "daemon timer create", options{config: map[string]string{"options": `{"interval":0.01}`}})
	s.create(t, "obj1", "{do: count}")
	s.create(t, "obj2", "{}")
	for _, id := range []string{"daemonFn", "createFn"} {
		op.until(t, id+" has counted", func() bool { return op.lines(`"counted":"`+id+`"`) == 50 })
	}
	op.until(t, "the timer has counted", func() bool { return op.lines(`"counted":"timerFn"`) >= 10 })
	s.patch(t, "obj1", `{"spec":{"do":"sum"}}`)
	op.until(t, "the timer tells the sum", func() bool { return op.lines(`"sum"`) > 0 })
	want := fmt.Sprintf(`{"sum":%d}`, op.lines(`"counted"`))
	if got := op.stdout.with(`"sum"`)[0]; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	s.patch(t, "obj2", `{"spec":{"do":"sum"}}`)
	op.until(t, "the other object has a memo of its own", func() bool { return op.lines(`"sum":0`) > 0 })
}

package handling

import (
	"testing"

	"github.com/kopf-wasm/kopf/reactor/reactortest"
)

// TestAttemptsAreCounted: each attempt counts once, and as a failure if the handler has
// returned an error; nothing else is.
func TestAttemptsAreCounted(t *testing.T) {
	guest := &reactortest.Scripted{Scripts: map[string][]string{
		"fine": {`{"step":"done"}`}, "later": {`{"step":"done","error":{"kind":"temporary","message":"later"}}`},
	}}
	s := newStage(t, guest, `{"metadata":{"name":"n"}}`)
	s.cause.Tally = &Tally{}
	for _, id := range []string{"fine", "later", "later"} {
		if _, err := s.x.Attempt(t.Context(), s.handler(t, `{"id":"`+id+`","resource":{"args":["x"]}}`), s.cause, fresh(0, 0)); err != nil {
			t.Fatal(err)
		}
	}
	exhausted := s.handler(t, `{"id":"fine","resource":{"args":["x"]},"retries":1}`)
	if _, err := s.x.Attempt(t.Context(), exhausted, s.cause, fresh(1, 0)); err != nil {
		t.Fatal(err)
	}
	over := s.cause.Tally.Delay()
	if got, want := s.cause.Tally.Counts(), (Counts{Attempts: 3, Failures: 2, Delayed: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if over(); s.cause.Tally.Counts().Delayed != 0 {
		t.Error("an object that does not wait any more counts")
	}
	var none *Tally
	none.Delay()()
	none.ended(true)
	if got := none.Counts(); got != (Counts{}) {
		t.Errorf("a nil Tally has counted %+v", got)
	}
}

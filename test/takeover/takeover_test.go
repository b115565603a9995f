package takeover_test

import (
	"flag"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/test/clustertest"
)

// parallel is how many operators run at once, on whatever number of cores: most of the time they
// wait.
const parallel = "8"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", parallel); err != nil { // the command line still wins
		panic(err)
	}
	clustertest.Main(m)
}

// definition is the operator: a creation that needs four attempts (unless the
// object is easy), an update, and a deletion with a finalizer.
const definition = `{"operator": {"handlers": [
	{"name": "create_fn", "decorators": [{"type": "create", "resource": "kopfexamples"}],
	 "do": [{"if": {"spec_has": "easy"}, "do": [{"return": {"easy": true}}]},
	        {"if": {"retry_lt": 3}, "do": [{"temporary": {"msg": "again", "delay": 3}}]}, {"return": {"hard": true}}]},
	{"name": "update_fn", "decorators": [{"type": "update", "resource": "kopfexamples"}]},
	{"name": "delete_fn", "decorators": [{"type": "delete", "resource": "kopfexamples"}],
	 "do": [{"if": {"retry_lt": 1}, "do": [{"temporary": {"msg": "hold", "delay": 3}}]}]}
]}}`

func TestTakeoverAndReturn(t *testing.T) {
	s := newStory(t, newInterpreter(t))
	create := func(name, ease string) { s.create(t, name, "{"+ease+": true}") }
	stored := func(name string) {
		t.Helper()
		s.annotated(t, name, "last-handled-configuration", "{")
		eventually(t, name+" to be stored as handled", func() bool { return s.annotation(t, name, "create_fn") == "" })
	}

	// The reference begins: one object is done, another one is in the middle of its retries.
	stop := s.start(t, "reference")
	create("easy1", "easy")
	create("hard", "hard")
	s.expect(t, "reference", "create_fn", "easy1", 0)
	s.expect(t, "reference", "create_fn", "hard", 0)
	stored("easy1")
	s.annotated(t, "hard", "create_fn", `"retries":1`)
	stop()

	// Here it continues with the second attempt, and handles what is new.
	stop = s.start(t, "guest")
	s.expect(t, "guest", "create_fn", "hard", 1)
	create("easy2", "easy")
	s.expect(t, "guest", "create_fn", "easy2", 0)
	stored("easy2")
	s.annotated(t, "hard", "create_fn", `"retries":2`)
	stop()

	// Back to the reference, which leaves one attempt, and to the end here.
	stop = s.start(t, "reference")
	s.expect(t, "reference", "create_fn", "hard", 2)
	s.annotated(t, "hard", "create_fn", `"retries":3`)
	stop()
	stop = s.start(t, "guest")
	s.expect(t, "guest", "create_fn", "hard", 3)
	stored("hard")

	// A change that one has handled is no change for the other.
	s.patch(t, "easy1", `{"spec":{"field":"changed"}}`)
	s.expect(t, "guest", "update_fn", "easy1", 0)
	s.annotated(t, "easy1", "last-handled-configuration", "changed")
	stop()

	// A deletion that was begun there is finished here.
	stop = s.start(t, "reference")
	s.remove(t, "easy1")
	s.expect(t, "reference", "delete_fn", "easy1", 0)
	s.annotated(t, "easy1", "delete_fn", `"retries":1`)
	stop()
	stop = s.start(t, "guest")
	s.expect(t, "guest", "delete_fn", "easy1", 1)
	s.gone(t, "easy1")
	time.Sleep(time.Second) // for calls that should not be there
	stop()

	s.compare(t, sorted)
}

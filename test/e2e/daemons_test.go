package e2e_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/host"
)

// startLiving runs the guest "living" with some of its handlers.
func (s space) startLiving(t *testing.T, handlers string, o options) *running {
	t.Helper()
	o.guest = "living"
	if o.config == nil {
		o.config = map[string]string{}
	}
	o.config["handlers"] = handlers
	return s.start(t, o)
}

// lines are the printed lines that have all the texts.
func (r *running) lines(texts ...string) int { return len(r.stdout.With(texts...)) }

// TestNeighboursOfRunawayDaemon: one daemon of a shared instance spins. The others
// are started again, uncharged; from then on it harms only itself.
func TestNeighboursOfRunawayDaemon(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.startLiving(t, "daemon", options{host: host.Options{ComputeLimit: time.Second}})
	for i := range 5 {
		s.create(t, fmt.Sprint("good", i), "{}")
	}
	op.until(t, "all tick", func() bool { return op.lines(`"tick":"good4"`) > 0 })
	s.create(t, "bad", "{do: spin later}")
	op.until(t, "the bad one is retried alone", func() bool { return op.lines(`"name":"bad"`, `"handler"`) >= 4 })
	for i := range 5 {
		name := fmt.Sprint("good", i)
		ticks := op.lines(`"tick":"` + name + `"`)
		op.until(t, name+" ticks on", func() bool { return op.lines(`"tick":"`+name+`"`) > ticks+2 })
		if calls := op.lines(`"name":"`+name+`"`, `"handler"`); calls != 2 {
			t.Errorf("%s was called %d times, want once again", name, calls)
		}
		if op.lines(`"name":"`+name+`"`, `"retry":0`) != 2 {
			t.Errorf("%s was charged for its neighbour", name)
		}
		op.says(t, name, "Daemon 'daemonFn' has lost its instance, and is started again.")
	}
	op.says(t, "bad", "computed too long: more than 1s")
	s.remove(t, "bad")
	s.gone(t, "bad")
}

// TestDaemonsThatPanic are retried, alone, and their objects can be deleted.
func TestDaemonsThatPanic(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.startLiving(t, "daemon", options{})
	s.create(t, "bad", "{do: panic}")
	s.create(t, "good", "{}")
	op.until(t, "it is retried", func() bool { return op.lines(`"name":"bad"`, `"retry":3`) > 0 })
	op.says(t, "bad", "panic: the daemon wants a panic")
	s.remove(t, "bad")
	s.gone(t, "bad")
	op.until(t, "the other one ticks", func() bool { return op.lines(`"tick":"good"`) > 3 })
	if calls := op.lines(`"name":"good"`); calls != 1 {
		t.Errorf("the other one was called %d times", calls)
	}
}

// TestDaemonsThatSpin from the first moment are stopped by the limit, again and
// again; a deletion of the object does not wait for them.
func TestDaemonsThatSpin(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.startLiving(t, "daemon", options{host: host.Options{ComputeLimit: time.Second}, config: map[string]string{"options": `{"retries":3}`}})
	s.create(t, "obj1", "{do: spin}")
	op.until(t, "it is retried", func() bool { return op.lines(`"name":"obj1"`, `"retry":2`) > 0 })
	op.says(t, "obj1", "Daemon 'daemonFn' failed with an exception and will stop now")
	s.remove(t, "obj1")
	s.gone(t, "obj1")
}

// TestDaemonsThatIgnoreTheirEnd: the object stays as long as they may not be ended by force;
// when the operator exits, they are ended by force.
func TestDaemonsThatIgnoreTheirEnd(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.startLiving(t, "daemon", options{config: map[string]string{"options": `{"polling":0.2}`}})
	s.create(t, "obj1", "{do: immortal}")
	op.until(t, "it runs", func() bool { return op.lines(`"name":"obj1"`) == 1 })
	s.held(t, "obj1")
	s.remove(t, "obj1")
	op.says(t, "obj1", "Daemon 'daemonFn' is still exiting. The next check is in 0.2 seconds.")
	if s.get(t, "obj1").GetFinalizers() == nil {
		t.Error("the object is released before its daemon has ended")
	}
	op.stop(t)
	s.patch(t, "obj1", `{"metadata":{"finalizers":null}}`)
}

// TestDaemonsAreCancelled after their time: they see why, and what comes from the
// end they are given is their last word.
func TestDaemonsAreCancelled(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.startLiving(t, "daemon", options{config: map[string]string{"options": `{"backoff":0.3,"timeout":5}`}})
	s.create(t, "obj1", "{do: ignore, period: 60}")
	op.until(t, "it runs", func() bool { return op.lines(`"name":"obj1"`) == 1 })
	s.held(t, "obj1")
	s.remove(t, "obj1")
	s.gone(t, "obj1")
	for _, line := range op.stdout.With("cancelled") {
		var end struct{ Reasons []string }
		if err := json.Unmarshal([]byte(line), &end); err != nil {
			t.Fatal(err)
		}
		if want := "[resource_deleted daemon_signalled daemon_cancelled]"; fmt.Sprint(end.Reasons) != want {
			t.Errorf("the reasons are %v, want %s", end.Reasons, want)
		}
	}
	op.until(t, "it is cancelled", func() bool { return op.lines(`"cancelled":"obj1"`) == 1 })
}

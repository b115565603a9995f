package e2e_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/test/porttest"
)

// leasing is how long Leases last: a leader that cannot renew its Lease in two thirds of it ends, and a busy machine can take some seconds.
const leasing = 15 * time.Second

// member starts a replica of an operator, and waits until it says something.
func (s space) member(t *testing.T, module, says string, args ...string) *process {
	t.Helper()
	p := s.spawnModule(t, guest(t, module), append([]string{"--standalone", "--replicas", "leader", "--lease", s.namespace + "/op", "--lease-duration", leasing.String()}, args...)...)
	p.says(t, says)
	return p
}

const (
	leads = "This replica is the leader now"
	waits = "This replica waits"
)

// handlesNext creates an object, and checks that only one of the replicas handles it, once.
func (s space) handlesNext(t *testing.T, name string, leader *process, others ...*process) {
	t.Helper()
	s.create(t, name, "{}")
	s.handled(t, name)
	leader.until(t, "the leader has printed the call", func() bool { return len(leader.stdout.callsFor(t, name)) > 0 })
	if calls := leader.stdout.callsFor(t, name); len(calls) != 1 {
		t.Errorf("%s: the leader has the calls %v", name, calls)
	}
	for i, other := range others {
		if calls := other.stdout.callsFor(t, name); len(calls) > 0 {
			t.Errorf("%s: replica %d has the calls %v", name, i, calls)
		}
	}
}

// TestReplicasTakeOver: each of the ways in which a leader can end gives another one, and no object is handled
// twice or forgotten.
func TestReplicasTakeOver(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	first := s.member(t, "scripted", leads)
	second := s.member(t, "scripted", waits)
	s.handlesNext(t, "one", first, second)
	s.create(t, "busy", "{do: sleep, seconds: 1}")
	first.until(t, "the handler runs", func() bool { return len(first.stdout.callsFor(t, "busy")) > 0 })
	s.patch(t, "busy", `{"metadata":{"labels":{"by":"others"}}}`)
	if labels := s.handled(t, "busy").GetLabels(); labels["by"] != "others" {
		t.Errorf("the change of others is lost: %v", labels)
	}
	created := 0
	for _, c := range first.stdout.callsFor(t, "busy") {
		if c.Reason == "create" {
			created++
		}
	}
	if created != 1 {
		t.Errorf("the object that others changed was created %d times", created)
	}

	stopped := time.Now()
	first.signal(t, syscall.SIGTERM)
	if code := first.exits(t); code != 0 {
		t.Errorf("the stopped leader ends with %d", code)
	}
	second.says(t, leads)
	t.Logf("after SIGTERM, another replica led after %v", time.Since(stopped).Round(10*time.Millisecond))
	third := s.member(t, "scripted", waits)
	s.handlesNext(t, "two", second, first, third)

	stopped = time.Now()
	second.signal(t, syscall.SIGKILL)
	second.exits(t)
	s.create(t, "orphan", "{}")
	third.says(t, leads)
	t.Logf("after SIGKILL, another replica led after %v", time.Since(stopped).Round(10*time.Millisecond))
	s.handled(t, "orphan")
	s.handlesNext(t, "three", third, first, second)

	fourth := s.member(t, "scripted", waits)
	third.signal(t, syscall.SIGSTOP)
	s.create(t, "seen-by-two", "{}")
	fourth.says(t, leads)
	s.handled(t, "seen-by-two")
	third.signal(t, syscall.SIGCONT)
	if code := third.exits(t); code == 0 {
		t.Error("a leader that has stood still ends as if it were stopped")
	}
	third.says(t, "not the leader any more")
	if calls := third.stdout.callsFor(t, "seen-by-two"); len(calls) > 0 {
		t.Errorf("a leader that has stood still has the calls %v", calls)
	}
	for _, name := range []string{"one", "two", "orphan", "three", "seen-by-two"} {
		if calls := fourth.stdout.callsFor(t, name); name != "seen-by-two" && len(calls) > 0 {
			t.Errorf("%s is handled again: %v", name, calls)
		}
	}
}

// TestReplicasInTheMiddleOfAHandler: a leader that stands still in a handler writes nothing afterwards, and the next one
// calls the handler again.
func TestReplicasInTheMiddleOfAHandler(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	first := s.member(t, "scripted", leads)
	second := s.member(t, "scripted", waits)
	s.create(t, "obj1", "{do: sleep, seconds: 1}")
	first.until(t, "the handler runs", func() bool { return len(first.stdout.callsFor(t, "obj1")) > 0 })
	first.signal(t, syscall.SIGSTOP)
	second.says(t, leads)
	done := s.handled(t, "obj1").GetResourceVersion()
	first.signal(t, syscall.SIGCONT)
	first.exits(t)
	if slept := first.stdout.With(`"slept"`); len(slept) > 0 {
		t.Errorf("the handler of the former leader continues: %v", slept)
	}
	if calls := second.stdout.callsFor(t, "obj1"); len(calls) != 1 {
		t.Errorf("the next leader has the calls %v", calls)
	}
	if now := s.get(t, "obj1").GetResourceVersion(); now != done {
		t.Errorf("the object was changed from version %s to %s", done, now)
	}
}

// TestReplicasFillTheirIndices: a replica that waits has complete indices, and uses them when it is the leader.
func TestReplicasFillTheirIndices(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	for i := range 3 {
		s.create(t, fmt.Sprintf("indexed-%d", i), "{key: a}")
	}
	handlers := []string{"--config", "handlers=index create", "--listen", porttest.Unused(t)}
	first := s.member(t, "living", leads, handlers...)
	handlers[3] = porttest.Unused(t)
	second := s.member(t, "living", waits, handlers...)
	second.until(t, "its index is full", func() bool { return metric(handlers[3], "kopf_index_entries") == "3" })
	if led := metric(handlers[3], "kopf_leader"); led != "0" {
		t.Errorf("the metric of the leader is %q", led)
	}
	first.signal(t, syscall.SIGKILL)
	first.exits(t)
	second.says(t, leads)
	s.create(t, "seeker", "{key: a}")
	s.handled(t, "seeker")
	second.until(t, "the handler has seen all", func() bool {
		return len(second.stdout.With(`"name":"seeker"`, `"values":4`)) == 1
	})
}

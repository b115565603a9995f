package e2e_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// crew is a number of replicas, each with a connection of its own to the API server.
type crew struct {
	space
	all []*sailor
}

// sailor is a replica.
type sailor struct {
	*process
	proxy *proxy
}

// hire starts a replica, and waits for what it says.
func (c *crew) hire(t *testing.T, says string) {
	t.Helper()
	p := newProxy(t, c.RESTConfig())
	one := c.spawnVia(t, p.kubeconfig(t), "--standalone", "--replicas", "leader", "--lease", c.namespace+"/op", "--lease-duration", leasing.String())
	one.says(t, says)
	c.all = append(c.all, &sailor{one, p})
}

func (s *sailor) living() bool {
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// leader waits until a replica leads, and returns the one that has become the leader last.
func (c *crew) leader(t *testing.T) (found *sailor) {
	t.Helper()
	c.until(t, "a replica leads", func() bool {
		for _, one := range c.all {
			if one.living() && len(one.stderr.With(leads)) > 0 {
				found = one
			}
		}
		return found != nil
	})
	return found
}

// next waits until another replica is the leader.
func (c *crew) next(t *testing.T, former *sailor) {
	t.Helper()
	c.until(t, "another replica leads", func() bool {
		return slices.ContainsFunc(c.all, func(s *sailor) bool { return s != former && s.living() && len(s.stderr.With(leads)) > 0 })
	})
}

// span is a call of a handler. A call that was abandoned in its sleep has no end: nothing of it runs afterwards.
type span struct {
	call
	replica    int
	complete   bool // it was not abandoned
	began, end time.Time
}

// spans returns the calls of all replicas by objects.
func (c *crew) spans(t *testing.T) map[string][]span {
	t.Helper()
	spans := map[string][]span{}
	for i, one := range c.all {
		for _, line := range one.stdout.All() {
			var said call
			if err := json.Unmarshal([]byte(line), &said); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			switch name := cmp.Or(said.Slept, said.Name); {
			case said.Slept != "" || said.Handler == "slept":
				last := &spans[name][len(spans[name])-1]
				last.end, last.complete = said.at(t), true
			default:
				spans[name] = append(spans[name], span{said, i, false, said.at(t), said.at(t)})
			}
		}
	}
	return spans
}

// replicaFault is what happens to a replica.
type replicaFault struct {
	harm func(t *testing.T, c *crew, one *sailor)
	mend func(t *testing.T, one *sailor) // after the others work on; nil: the replica stays
}

// replicaFaults are those of replicas in both modes.
func replicaFaults() map[string]replicaFault {
	sends := func(s syscall.Signal) func(*testing.T, *crew, *sailor) {
		return func(t *testing.T, _ *crew, one *sailor) { one.signal(t, s) }
	}
	ended := func(*testing.T, *sailor) {}
	return map[string]replicaFault{
		"killed":   {sends(syscall.SIGKILL), ended},
		"stopped":  {sends(syscall.SIGTERM), ended},
		"standing": {sends(syscall.SIGSTOP), func(t *testing.T, s *sailor) { s.signal(t, syscall.SIGCONT) }},
		"cut off":  {func(_ *testing.T, _ *crew, s *sailor) { s.proxy.inject(halfOpen) }, func(_ *testing.T, s *sailor) { s.proxy.inject(none) }},
	}
}

// TestFaultsOfReplicas: while leaders are killed, stand still, or lose the API server, and their Lease is deleted, each object is
// handled, and none by two replicas at once.
func TestFaultsOfReplicas(t *testing.T) {
	t.Parallel()
	leases := schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	all := replicaFaults()
	all["without lease"] = replicaFault{harm: func(t *testing.T, c *crew, _ *sailor) {
		if err := c.client(leases).Delete(t.Context(), "op", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}}
	for name, fault := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &crew{space: newSpace(t)}
			c.hire(t, leads)
			c.hire(t, waits)
			c.hire(t, waits)
			objects := 0
			for round := range sized(1, 20) {
				leader, batch := c.leader(t), sized(5, 20)
				for i := range batch {
					c.create(t, fmt.Sprintf("obj-%d-%d", round, i), "{do: sleep, seconds: 0.3}")
				}
				objects += batch
				began := time.Now()
				fault.harm(t, c, leader)
				if fault.mend == nil {
					time.Sleep(leasing + time.Second)
				} else {
					c.next(t, leader)
					t.Logf("round %d: another replica led after %v", round, time.Since(began).Round(10*time.Millisecond))
					fault.mend(t, leader)
					leader.exits(t)
					c.hire(t, waits)
				}
				c.manyHandled(t, fmt.Sprint("obj-", round), 0, batch)
			}
			c.checkSpans(t, objects)
		})
	}
}

// checkSpans fails if an object was handled by two replicas at once, or never.
func (c *crew) checkSpans(t *testing.T, objects int) {
	t.Helper()
	again := 0
	for _, calls := range c.orderedSpans(t, objects) {
		again += len(calls) - 1
	}
	t.Logf("%d objects, %d interrupted calls that were repeated", objects, again)
}

// orderedSpans are the calls of all replicas by objects, in their order. It fails as checkSpans does.
func (c *crew) orderedSpans(t *testing.T, objects int) map[string][]span {
	t.Helper()
	all := c.spans(t)
	checkSpans(t, all, objects)
	return all
}

// checkSpans puts the calls in their order, and fails as the method does.
func checkSpans(t *testing.T, all map[string][]span, objects int) {
	t.Helper()
	if len(all) != objects {
		t.Errorf("%d of %d objects were handled", len(all), objects)
	}
	for name, calls := range all {
		slices.SortFunc(calls, func(a, b span) int { return a.began.Compare(b.began) })
		for i, one := range calls[1:] {
			if before := calls[i]; one.began.Before(before.end) {
				t.Errorf("%s: replica %d began at %v, when replica %d had not ended, which was at %v", name, one.replica, one.began, before.replica, before.end)
			}
		}
	}
}

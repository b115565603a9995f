package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// enlist starts a replica that shares the objects, and waits until it does.
func (c *crew) enlist(t *testing.T) {
	t.Helper()
	p := newProxy(t, c.RESTConfig())
	one := c.spawnVia(t, p.kubeconfig(t), "--standalone", "--replicas", "shared", "--lease", c.namespace+"/op", "--lease-duration", leasing.String())
	one.says(t, "members share the objects")
	c.all = append(c.all, &sailor{one, p})
}

// oldest returns the replica that lives longest: the coordinator, as long as only the oldest ones end.
func (c *crew) oldest() *sailor {
	for _, one := range c.all {
		if one.living() {
			return one
		}
	}
	return nil
}

// TestFaultsOfReplicasThatShare: while replicas are killed, stopped, stand still, or lose the API server, and all Leases are
// deleted, each object is handled, and none by two replicas at once. The short form has one of these faults; TestReplicasShareTheObjects
// kills and stops a replica.
func TestFaultsOfReplicasThatShare(t *testing.T) {
	t.Parallel()
	for name, fault := range shareFaults() {
		if !full() && name != "standing" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &crew{space: newSpace(t)}
			objects := c.suffer(t, fault, c.enlist, func(batch, count int) { c.manyHandled(t, fmt.Sprint("obj-", batch), 0, count) })
			c.checkSpans(t, objects)
			working := 0
			for _, one := range c.all {
				if strings.Contains(one.stdout.String(), `"handler"`) {
					working++
				}
			}
			t.Logf("%d replicas have handled objects", working)
		})
	}
}

// shareFaults are what happens to replicas that share the objects.
func shareFaults() map[string]replicaFault {
	leases := schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	all := replicaFaults()
	all["without leases"] = replicaFault{harm: func(t *testing.T, c *crew, _ *sailor) {
		list, err := c.client(leases).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Error(err)
			return
		}
		for _, one := range list.Items {
			if err := c.client(leases).Delete(t.Context(), one.GetName(), metav1.DeleteOptions{}); err != nil {
				t.Log(err) // the coordinator tidies up
			}
		}
	}}
	return all
}

// suffer lets one of three replicas have a fault, again and again, while objects are created. It returns how many. Handled waits until a
// batch of objects is handled.
func (c *crew) suffer(t *testing.T, fault replicaFault, enlist func(t *testing.T), handled func(batch, count int)) (objects int) {
	t.Helper()
	for range 3 {
		enlist(t)
	}
	for round := range sized(1, 20) {
		one := c.oldest()
		const batch = 20
		for i := range batch {
			c.create(t, fmt.Sprintf("obj-%d-%d", round, i), "{do: sleep, seconds: 0.3}")
		}
		objects += batch
		began := time.Now()
		fault.harm(t, c, one)
		if fault.mend == nil {
			time.Sleep(leasing + time.Second)
		} else {
			handled(round, batch)
			t.Logf("round %d: all is handled after %v", round, time.Since(began).Round(10*time.Millisecond))
			time.Sleep(time.Until(began.Add(leasing + time.Second))) // a replica that returns before its Lease expires continues
			fault.mend(t, one)
			one.exits(t)
			enlist(t)
		}
		handled(round, batch)
	}
	return objects
}

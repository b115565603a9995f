package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// These are the modes of replicas.
const (
	withLeader = "leader"
	withShares = "shared"
)

// recruit starts replicas of a version of an operator, and waits until they work, or wait for their turn.
func (c *crew) recruit(t *testing.T, mode, module string, count int) {
	t.Helper()
	from := len(c.all)
	for range count {
		one := c.spawnModule(t, module, "--standalone", "--replicas", mode, "--lease", c.namespace+"/op", "--lease-duration", leasing.String())
		c.all = append(c.all, &sailor{one, nil})
	}
	for _, one := range c.all[from:] {
		one.until(t, "a replica takes part", func() bool {
			if !one.living() {
				t.Fatalf("a replica has ended with the code %d", one.cmd.ProcessState.ExitCode())
			}
			says := []string{leads, waits}
			if mode == withShares {
				says = []string{"members share the objects"}
			}
			return slices.ContainsFunc(says, func(text string) bool { return len(one.stderr.With(text)) > 0 })
		})
	}
}

// dismiss stops replicas at once, as Kubernetes does, and waits until they have ended.
func (c *crew) dismiss(t *testing.T, some ...*sailor) {
	t.Helper()
	for _, one := range some {
		one.signal(t, syscall.SIGTERM)
	}
	for _, one := range some {
		if code := one.exits(t); code != 0 {
			t.Errorf("a replica that is stopped ends with the code %d", code)
		}
	}
}

// present are the replicas that live, the oldest one first.
func (c *crew) present() []*sailor {
	return slices.DeleteFunc(slices.Clone(c.all), func(one *sailor) bool { return !one.living() })
}

// agreed waits until all replicas that share the objects know their number.
func (c *crew) agreed(t *testing.T) {
	t.Helper()
	present := c.present()
	c.until(t, fmt.Sprintf("%d replicas share the objects", len(present)), func() bool {
		return !slices.ContainsFunc(present, func(one *sailor) bool {
			said := one.stderr.With("members share the objects")
			return len(said) == 0 || !strings.Contains(said[len(said)-1], fmt.Sprintf(" %d members", len(present)))
		})
	})
}

// load creates objects, and changes others that may be handled at this moment, until it is stopped. It returns the number of
// objects then.
func (c *crew) load(t *testing.T) (stop func() int) {
	t.Helper()
	const pause, lag = 100 * time.Millisecond, 3 // between two objects; between the creation of an object and its change
	count, stopped := 0, make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-stopped:
				return
			case <-time.After(pause):
			}
			object := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "kopf.dev/v1", "kind": "KopfExample", "metadata": map[string]any{"name": fmt.Sprint("obj-", count)},
				"spec": map[string]any{"seconds": 0.3, "mark": true},
			}}
			if _, err := c.client(examples).Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
				t.Error(err)
				return
			}
			count++
			for _, earlier := range []int{count - lag, count / 2} {
				if err := c.change(t, max(earlier, 0), fmt.Sprint(count)); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	return sync.OnceValue(func() int {
		close(stopped)
		running.Wait()
		return count
	})
}

// change changes an object of the load.
func (c *crew) change(t *testing.T, i int, to string) error {
	t.Helper()
	_, err := c.client(examples).Patch(t.Context(), fmt.Sprint("obj-", i), types.MergePatchType, fmt.Appendf(nil, `{"spec":{"field":%q}}`, to), metav1.PatchOptions{})
	return err
}

// lastChange changes all objects, and waits until a version of the operator has handled that.
func (c *crew) lastChange(t *testing.T, objects int, version string) {
	t.Helper()
	for i := range objects {
		if err := c.change(t, i, "last"); err != nil {
			t.Fatal(err)
		}
	}
	c.manyHandled(t, "obj", 0, objects)
	c.Eventually(t, 2*patience, func() error {
		list, err := c.client(examples).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, item := range list.Items {
			marked, _, _ := unstructured.NestedString(item.Object, "status", "version")
			if handled := item.GetAnnotations()[lastHandled]; !strings.Contains(handled, `"last"`) || marked != version || len(item.GetAnnotations()) > 1 {
				return fmt.Errorf("%s: version %q has handled %s", item.GetName(), marked, handled)
			}
		}
		return nil
	})
}

// checkLoad fails if an object was handled by two replicas at once, or if its creation was not handled once.
func (c *crew) checkLoad(t *testing.T, objects int) {
	t.Helper()
	calls, abandoned, by := 0, 0, map[string]int{}
	for name, all := range c.orderedSpans(t, objects) {
		created := 0
		for _, one := range all {
			calls++
			by[one.Version]++
			switch {
			case !one.complete:
				abandoned++
			case one.Handler == "create":
				created++
			}
		}
		if created != 1 {
			t.Errorf("the creation of %s was handled %d times", name, created)
		}
	}
	t.Logf("%d objects, %d calls, %d of them abandoned; calls by version: %v", objects, calls, abandoned, by)
}

// TestFaultsOfReplicasUnderLoad: replicas are replaced by those of another version of the operator, one after the other, or their
// number changes, while objects are created and changed. The creation of each object is handled once, no object is handled by two
// replicas at once, and the last change of each by the version that is left. The short form replaces a leader.
func TestFaultsOfReplicasUnderLoad(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{withLeader, withShares} {
		if full() || mode == withLeader {
			t.Run("upgrade/"+mode, func(t *testing.T) { t.Parallel(); upgraded(t, mode) })
		}
		if full() {
			t.Run("scale/"+mode, func(t *testing.T) { t.Parallel(); scaled(t, mode) })
		}
	}
}

// upgraded replaces all replicas by those of the other version, again and again.
func upgraded(t *testing.T, mode string) {
	t.Helper()
	c := &crew{space: newSpace(t)}
	versions := []string{version(t), version(t, "version=2")}
	compileFirst(t, versions[1])
	if mode == withLeader {
		c.ApplyIn(t, c.namespace, "{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: op}}") // nobody has to wait for a former leader
	}
	c.recruit(t, mode, versions[0], sized(2, 3))
	stop := c.load(t)
	defer stop()
	last := ""
	for round := range sized(1, 9) {
		next := (round + 1) % len(versions)
		last = fmt.Sprint(next + 1)
		began := time.Now()
		for _, former := range c.present() {
			c.recruit(t, mode, versions[next], 1)
			c.dismiss(t, former)
			time.Sleep(time.Second) // the load continues
		}
		t.Logf("round %d: %d replicas of version %s after %v", round, len(c.present()), last, time.Since(began).Round(10*time.Millisecond))
	}
	objects := stop()
	c.lastChange(t, objects, last)
	c.checkLoad(t, objects)
}

// scaled changes the number of replicas. They end from both sides of the list, so that leaders end, too.
func scaled(t *testing.T, mode string) {
	t.Helper()
	c := &crew{space: newSpace(t)}
	module := version(t)
	c.recruit(t, mode, module, 1)
	stop := c.load(t)
	defer stop()
	for step, count := range []int{2, 3, 10, 3, 2, 1, 10, 1, 3} {
		began, present := time.Now(), c.present()
		if more := count - len(present); more > 0 {
			c.recruit(t, mode, module, more)
		} else if step%2 == 0 {
			c.dismiss(t, present[:-more]...)
		} else {
			c.dismiss(t, present[count:]...)
		}
		if mode == withShares {
			c.agreed(t)
		}
		t.Logf("%d after %d replicas: %v", count, len(present), time.Since(began).Round(10*time.Millisecond))
		time.Sleep(2 * time.Second) // the load continues
	}
	objects := stop()
	c.lastChange(t, objects, "1")
	c.checkLoad(t, objects)
	if mode == withShares {
		c.checkShares(t)
	}
}

// checkShares fails if fewer than ten replicas have handled objects.
func (c *crew) checkShares(t *testing.T) {
	t.Helper()
	working := 0
	for _, one := range c.all {
		if len(one.stdout.With(`"handler"`)) > 0 {
			working++
		}
	}
	if working < 10 {
		t.Errorf("only %d of %d replicas have handled objects", working, len(c.all))
	}
	t.Logf("%d of %d replicas have handled objects", working, len(c.all))
}

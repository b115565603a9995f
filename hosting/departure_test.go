package hosting

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/finalizers"
	"github.com/kopf-wasm/kopf/operator"
)

// cluster is the objects of an operator's finalizer.
type cluster struct {
	mu sync.Mutex // guards all below
	seen
}

// seen is what has happened to them.
type seen struct {
	asked    finalizers.Options
	deleting []int // at the next counts; the last one stays
	fails    error
	counts   int
	released int
	attempts int
	runs     func() bool // whether the operator runs
	ran      bool        // while its finalizers were removed
}

func (c *cluster) Deleting(context.Context) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts++
	if len(c.deleting) == 0 {
		return 0, nil
	}
	count := c.deleting[0]
	if len(c.deleting) > 1 {
		c.deleting = c.deleting[1:]
	}
	return count, nil
}

func (c *cluster) Release(context.Context) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attempts++
	c.ran = c.ran || c.runs()
	if c.fails != nil {
		return 0, c.fails
	}
	c.released++
	return 3, nil
}

func (*cluster) Close() {}

// now returns what has happened so far.
func (c *cluster) now() seen {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}

// leaving is a host whose operators have finalizers.
func leaving(t *testing.T, replica ...Replica) (*fixture, *cluster) {
	t.Helper()
	x, c := hosted(t, operator.Options{}, replica...), &cluster{}
	c.runs = func() bool {
		return slices.ContainsFunc(x.all(), func(f *fake) bool {
			select {
			case <-f.ended:
				return false
			default:
				return true
			}
		})
	}
	x.options.release = func(_ context.Context, o finalizers.Options) releaser {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.asked = o
		return c
	}
	return x, c
}

// last returns the last report.
func (x *fixture) last() string {
	all := x.said()
	return all[len(all)-1]
}

// said returns all reports so far.
func (x *fixture) said() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.reports)
}

func onRemoval(mode api.Finalizers, after string) func(*api.Spec) {
	return func(s *api.Spec) { s.OnRemoval = &api.OnRemoval{Finalizers: mode, ReleaseAfter: after} }
}

// deleted deletes a declaration that has the finalizer of the host.
func (x *fixture) deleted(d Declaration) {
	d.Generation++
	d.Leaving = true
	x.Declare(d)
	synctest.Wait()
}

// TestFinalizersAreReleasedAfterTheOperatorHasStopped: with Release, at once, and with Keep
// never.
func TestFinalizersAreReleasedAfterTheOperatorHasStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, c := leaving(t)
		c.deleting = []int{5}
		x.setUp = func(f *fake) { f.lingering = time.Minute }
		d := x.declared("a", 1, onRemoval(api.Release, ""))
		if s := x.Status(key("a")); s.Finalizer != "kopf" {
			t.Errorf("status %+v", s)
		}
		x.deleted(d)
		x.has("a", api.Releasing, api.True, "Deleted", "the finalizers kopf of the operator are removed")
		x.has("a", api.Ready, api.False, "Releasing", "")
		time.Sleep(time.Hour)
		synctest.Wait()
		if c.now().released != 1 || c.now().ran || c.now().counts != 0 || x.last() != "a: gone" {
			t.Errorf("%+v, reports %v", c.now(), x.said())
		}
		if o := c.now().asked; o.Finalizer != "kopf" || !slices.Equal(o.Resources, []string{"things"}) || !slices.Equal(o.Namespaces, []string{"ns"}) {
			t.Errorf("asked for %+v", o)
		}
		x.declared("b", 1, nil)
		x.Remove(key("b"))
		time.Sleep(time.Hour)
		synctest.Wait()
		if c.now().released != 1 || x.last() != "b: gone" {
			t.Errorf("%+v, reports %v", c.now(), x.said())
		}
	})
}

// TestDeletionHandlersHaveABoundedTime: the operator runs until no object waits for it, or
// until the time is over.
func TestDeletionHandlersHaveABoundedTime(t *testing.T) {
	for name, tt := range map[string]struct {
		deleting []int
		after    string
		takes    time.Duration // at least
		most     time.Duration
	}{
		"none waits":     {nil, "1h", 0, time.Second},
		"some are slow":  {[]int{2, 1, 0}, "1h", 3 * time.Second, 10 * time.Second},
		"one never ends": {[]int{1}, "10m", 10*time.Minute - 2*time.Second, 10*time.Minute + time.Second},
		"the default":    {[]int{1}, "", 5*time.Minute - 2*time.Second, 5*time.Minute + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x, c := leaving(t)
				c.deleting = tt.deleting
				d := x.declared("a", 1, onRemoval(api.ReleaseAfter, tt.after))
				began := time.Now()
				x.deleted(d)
				<-x.all()[0].ended
				if took := time.Since(began); took < tt.takes || took > tt.most {
					t.Errorf("stopped after %v", took)
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if c.now().released != 1 || c.now().ran || x.last() != "a: gone" {
					t.Errorf("%+v, reports %v", c.now(), x.said())
				}
			})
		})
	}
}

// deletedBefore is a declaration that is being deleted when the host sees it for the first time, with what an earlier host has reported.
func deletedBefore(finalizers api.Finalizers) Declaration {
	return Declaration{
		Key: key("a"), UID: "u", Generation: 2, Leaving: true,
		Spec:     api.Spec{Module: "v1", ServiceAccountName: "sa", OnRemoval: &api.OnRemoval{Finalizers: finalizers}},
		Reported: &api.Status{Resources: []string{"things"}, Finalizer: "mine"},
	}
}

// TestADepartureContinuesAfterARestart: by what the earlier host has reported, within the
// time that began then. The operator is started for objects that wait for it.
func TestADepartureContinuesAfterARestart(t *testing.T) {
	for name, tt := range map[string]struct {
		ago   time.Duration
		made  int
		after time.Duration
	}{"in time": {4 * time.Minute, 1, time.Minute}, "too late": {time.Hour, 0, 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x, c := leaving(t)
				c.deleting = []int{1}
				began := time.Now().UTC().Add(-tt.ago)
				d := deletedBefore(api.ReleaseAfter)
				d.Reported.Resources = []string{"old"} // in addition to what the operator says itself
				d.Reported.Conditions = []api.Condition{{Type: api.Releasing, Status: api.True, Reason: "Deleted", LastTransitionTime: began}}
				x.Declare(d)
				synctest.Wait()
				if made := len(x.all()); made != tt.made {
					t.Errorf("%d operators", made)
				}
				time.Sleep(tt.after + 2*time.Second)
				synctest.Wait()
				if c.now().released != 1 || c.now().ran || x.last() != "a: gone" || c.now().asked.Finalizer != "mine" || !slices.Contains(c.now().asked.Resources, "old") {
					t.Errorf("%+v, reports %v", c.now(), x.said())
				}
			})
		})
	}
}

// TestAReleaseThatFailsIsRepeated: the status says why, and in the end the declaration goes.
func TestAReleaseThatFailsIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, c := leaving(t)
		c.fails = errors.New("things is forbidden")
		x.deleted(x.declared("a", 1, onRemoval(api.Release, "")))
		x.has("a", api.Degraded, api.True, api.ReleaseFailed, "the finalizers of the operator cannot be removed; the next attempt follows after 1s: things is forbidden")
		time.Sleep(9 * time.Minute)
		synctest.Wait()
		if x.last() == "a: gone" || c.now().attempts < 10 || c.now().attempts > 20 {
			t.Errorf("%+v, reports %v", c.now(), x.said())
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		reports := x.said()
		if n := len(reports); reports[n-2] != "a: ReleaseFailed" || reports[n-1] != "a: gone" {
			t.Errorf("reports %v", reports)
		}
	})
}

// TestAReleaseNeedsNoLimits: a host that refuses the declaration now, such as one with lower limits than before, removes the finalizers
// all the same.
func TestAReleaseNeedsNoLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, c := leaving(t)
		d := deletedBefore(api.Release)
		d.Spec.Limits = map[string]string{"Unknown": "1"}
		x.Declare(d)
		time.Sleep(time.Minute)
		synctest.Wait()
		if o := c.now().asked; c.now().released != 1 || o.Finalizer != "mine" || !slices.Equal(o.Namespaces, []string{"ns"}) || x.last() != "a: gone" {
			t.Errorf("%+v, reports %v", c.now(), x.said())
		}
	})
}

// TestInvalidDeclarationsAreReleased: after an upgrade, a host may refuse what an earlier one has served. It starts no operator of an
// invalid declaration for deletion handlers: what it refuses may be that nothing is verified.
func TestInvalidDeclarationsAreReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, c := leaving(t)
		c.deleting = []int{1}
		d := deletedBefore(api.ReleaseAfter)
		d.Problem = errors.New("spec.verification")
		x.Declare(d)
		time.Sleep(time.Minute)
		synctest.Wait()
		if c.now().released != 1 || c.now().asked.Finalizer != "mine" || len(x.all()) != 0 || x.last() != "a: gone" {
			t.Errorf("%+v, %d operators, reports %v", c.now(), len(x.all()), x.said())
		}
	})
}

// TestADepartureEnds: when the object vanishes or is declared again meanwhile, and when the
// host ends.
func TestADepartureEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, c := leaving(t)
		c.deleting = []int{1}
		a := x.declared("a", 1, onRemoval(api.ReleaseAfter, "1h"))
		b := x.declared("b", 1, onRemoval(api.ReleaseAfter, "1h"))
		x.deleted(x.declared("c", 1, onRemoval(api.ReleaseAfter, "1h")))
		x.deleted(a)
		x.Remove(key("a")) // another client has removed the finalizer of the host
		x.Remove(key("b")) // as a folder does
		synctest.Wait()
		x.has("b", api.Ready, api.False, "Releasing", "")
		b.Generation = 3
		x.Declare(b)
		time.Sleep(time.Minute)
		synctest.Wait()
		x.has("b", api.Ready, api.True, "Serving", "")
		if x.Status(key("a")) != nil || c.now().released != 0 || len(x.all()) != 3 {
			t.Errorf("%+v, reports %v", c.now(), x.said())
		}
	})
}

// TestAnotherDepartureHasItsOwnTime: the status of a declaration that is back says nothing about its first departure, when a manifest of
// a folder was away for a moment. The time of that departure is not the beginning of the next one.
func TestAnotherDepartureHasItsOwnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, c := leaving(t)
		c.deleting = []int{1}
		d := x.declared("a", 1, onRemoval(api.ReleaseAfter, "5m"))
		x.Remove(key("a"))
		synctest.Wait()
		x.has("a", api.Releasing, api.True, "Deleted", "")
		x.Declare(d)
		synctest.Wait()
		if s := x.Status(key("a")); s.Find(api.Releasing) != nil || !s.Is(api.Ready) {
			t.Errorf("declared again: %+v", s)
		}
		time.Sleep(time.Hour)
		began := time.Now()
		x.Remove(key("a"))
		<-x.all()[0].ended
		if took := time.Since(began); took < 5*time.Minute-2*time.Second {
			t.Errorf("deletion handlers had %v", took)
		}
	})
}

// TestSuspendedOperatorsLeaveWithoutHandlers: they are not started for objects that wait.
func TestSuspendedOperatorsLeaveWithoutHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, c := leaving(t)
		c.deleting = []int{1}
		x.declared("a", 1, onRemoval(api.ReleaseAfter, "1h"))
		d := x.declared("a", 2, func(s *api.Spec) { onRemoval(api.ReleaseAfter, "1h")(s); s.Suspend = true })
		x.deleted(d)
		if c.now().released != 1 || len(x.all()) != 1 || x.last() != "a: gone" {
			t.Errorf("%+v, reports %v", c.now(), x.said())
		}
		x.declared("never", 1, func(s *api.Spec) { onRemoval(api.Release, "")(s); s.Suspend = true })
		x.Remove(key("never"))
		synctest.Wait()
		if c.now().released != 1 || x.last() != "never: gone" {
			t.Errorf("%+v, reports %v", c.now(), x.said())
		}
	})
}

// TestResourcesAreReportedSoon: a host that continues a departure has only the status.
func TestResourcesAreReportedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		x.setUp = func(f *fake) { f.unaware.Store(true) }
		x.declared("a", 1, nil)
		time.Sleep(time.Second)
		x.all()[0].unaware.Store(false)
		time.Sleep(time.Second)
		synctest.Wait()
		if s := x.Status(key("a")); !slices.Equal(s.Resources, []string{"things"}) || s.Finalizer != "kopf" {
			t.Errorf("status %+v", s)
		}
	})
}

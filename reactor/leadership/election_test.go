package leadership_test

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/reactor/leadership"
	"github.com/kopf-wasm/kopf/reactor/leadership/leadershiptest"
)

// candidate is a replica in a test.
type candidate struct {
	*leadership.Election
	stop context.CancelFunc
	led  chan struct{} // closed when it is the leader
	end  chan error    // gets the error of Run
}

func join(t *testing.T, store leadership.Store, name string) *candidate {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	c := &candidate{
		Election: &leadership.Election{Store: store, Identity: name, Terms: leadershiptest.Terms(t), Log: func(text string) { t.Log(name + ": " + text) }},
		stop:     stop, led: make(chan struct{}), end: make(chan error, 1),
	}
	go func() { c.end <- c.Run(ctx, func() { close(c.led) }) }()
	t.Cleanup(func() { stop(); synctest.Wait() })
	return c
}

// leads reports whether the replica is the leader now.
func (c *candidate) leads() bool {
	_, err := c.Hold()
	return err == nil
}

// two returns two replicas, of which the first leads, and their Store.
func two(t *testing.T) (a, b *candidate, store *memory) {
	t.Helper()
	store = free()
	a = join(t, store, "a")
	<-a.led
	return a, join(t, store, "b"), store
}

// free is a Store with a Lease that has no holder.
func free() *memory {
	m := &memory{}
	m.put(leadership.Lease{})
	return m
}

func TestOneOfTwoReplicasIsTheLeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b, _ := two(t)
		time.Sleep(time.Hour)
		if !a.leads() || b.leads() {
			t.Fatalf("a leads: %v, b leads: %v", a.leads(), b.leads())
		}
		if leader, leads := b.Standing(); leader != "a" || leads {
			t.Errorf("b says: the leader is %q, it leads: %v", leader, leads)
		}
		if leader, leads := a.Standing(); leader != "a" || !leads {
			t.Errorf("a says: the leader is %q, it leads: %v", leader, leads)
		}
	})
}

// TestLeaseIsTakenWithTheLastNumberOfTransitions: anyone with the right to update Leases can write it, and the API
// server refuses a greater one.
func TestLeaseIsTakenWithTheLastNumberOfTransitions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := free()
		store.edit(func(l *leadership.Lease) { l.Transitions = math.MaxInt32 })
		a := join(t, store, "a")
		<-a.led
		if lease, err := store.Read(t.Context()); err != nil || lease.Transitions != math.MaxInt32 || lease.Holder != "a" {
			t.Errorf("the lease is %+v, %v", lease, err)
		}
	})
}

func TestReleasedLeaseIsTakenWithinASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b, _ := two(t)
		time.Sleep(time.Minute)
		a.stop()
		if err := <-a.end; err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if b.leads() {
			t.Fatal("b leads before the lease is released")
		}
		if err := a.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if !b.leads() || a.leads() {
			t.Errorf("a leads: %v, b leads: %v", a.leads(), b.leads())
		}
	})
}

func TestKilledLeaderIsFollowedAfterTheDuration(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b, _ := two(t)
		time.Sleep(time.Minute)
		a.stop() // without a release
		stopped := time.Now()
		<-b.led
		if waited := time.Since(stopped); waited < 13*time.Second || waited > 16*time.Second {
			t.Errorf("b leads after %v", waited)
		}
	})
}

func TestMissingLeaseIsMadeAfterTheDuration(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		a := join(t, &memory{}, "a")
		<-a.led
		if waited := time.Since(began); waited < 15*time.Second || waited > 16*time.Second {
			t.Errorf("it leads after %v", waited)
		}
	})
}

func TestDeletedLeaseStaysWithTheLeader(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(m *memory){
		"deleted": func(m *memory) { m.remove() },
		"cleared": func(m *memory) { m.edit(func(l *leadership.Lease) { l.Holder = "" }) },
		"touched": func(m *memory) { m.edit(func(*leadership.Lease) {}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a, b, store := two(t)
				for range 20 {
					time.Sleep(7 * time.Second)
					damage(store)
				}
				c := join(t, store, "c")
				time.Sleep(time.Minute)
				if !a.leads() || b.leads() || c.leads() {
					t.Errorf("a leads: %v, b leads: %v, c leads: %v", a.leads(), b.leads(), c.leads())
				}
			})
		})
	}
}

func TestLeaderWhoseLeaseIsTakenEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := free()
		a := join(t, store, "a")
		<-a.led
		store.edit(func(l *leadership.Lease) { l.Holder = "another" })
		if err := <-a.end; !errors.Is(err, leadership.ErrLost) {
			t.Errorf("got %v", err)
		}
		if a.leads() {
			t.Error("it still leads")
		}
		if err := a.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if store.lease.Holder != "another" {
			t.Errorf("the holder is %q", store.lease.Holder)
		}
	})
}

// failing is a Store whose requests fail from time to time.
type failing struct {
	*memory
	reads, writes atomic.Bool
}

func (f *failing) Read(ctx context.Context) (leadership.Lease, error) {
	if f.reads.Load() {
		return leadership.Lease{}, leadershiptest.ErrCut
	}
	return f.memory.Read(ctx)
}

func (f *failing) Write(ctx context.Context, lease leadership.Lease) (leadership.Lease, error) {
	if f.writes.Load() {
		return leadership.Lease{}, leadershiptest.ErrCut
	}
	return f.memory.Write(ctx, lease)
}

// cut makes all requests fail, or none.
func (f *failing) cut(broken bool) {
	f.reads.Store(broken)
	f.writes.Store(broken)
}

func TestLeaderWithoutTheServerEndsBeforeOthersBegin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := free()
		mine := &failing{memory: shared}
		a := join(t, mine, "a")
		<-a.led
		b := join(t, shared, "b")
		time.Sleep(time.Minute)
		mine.cut(true)
		cutAt := time.Now()
		if err := <-a.end; !errors.Is(err, leadership.ErrLost) {
			t.Errorf("got %v", err)
		}
		if after := time.Since(cutAt); after > 10*time.Second {
			t.Errorf("a ends after %v", after)
		}
		if b.leads() {
			t.Error("b leads already")
		}
		<-b.led
	})
}

func TestShortLapsesOfTheServerChangeNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &failing{memory: free()}
		a := join(t, store, "a")
		<-a.led
		for range 20 {
			store.cut(true)
			time.Sleep(7 * time.Second)
			store.cut(false)
			time.Sleep(7 * time.Second)
		}
		if !a.leads() {
			t.Error("it does not lead")
		}
	})
}

func TestTermsAreChecked(t *testing.T) {
	t.Parallel()
	if _, err := leadership.TermsOf(time.Second); err == nil {
		t.Error("a second is accepted")
	}
	terms, err := leadership.TermsOf(2500 * time.Millisecond)
	if err != nil || terms.Duration != 3*time.Second || terms.Renewal != 2*time.Second || terms.Margin() != time.Second/2 {
		t.Errorf("got %+v, %v", terms, err)
	}
}

// TestFailuresAreLoggedWhenTheyBeginAndEnd: a replica looks at the Lease twice a second, also while the API server is away for hours.
func TestFailuresAreLoggedWhenTheyBeginAndEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &failing{memory: free()}
		var said []string
		e := &leadership.Election{Store: store, Identity: "a", Terms: leadershiptest.Terms(t), Log: func(text string) { said = append(said, text) }}
		ctx, stop := context.WithCancel(t.Context())
		led, ended := make(chan struct{}), make(chan error, 1)
		store.reads.Store(true)
		go func() { ended <- e.Run(ctx, func() { close(led) }) }()
		time.Sleep(time.Hour)
		store.writes.Store(true)
		store.reads.Store(false)
		time.Sleep(time.Hour)
		store.writes.Store(false)
		<-led
		time.Sleep(time.Hour)
		store.writes.Store(true)
		time.Sleep(5 * time.Second) // shorter than the lease
		store.writes.Store(false)
		time.Sleep(time.Hour)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		want := []string{
			"The lease could not be read, which is tried again: no connection", "The lease is reached again.", "This replica is the leader now: a.",
			"The lease could not be renewed, which is tried again: no connection", "The lease is reached again.",
		}
		if diff := cmp.Diff(want, said); diff != "" {
			t.Errorf("the log (-want +got):\n%s", diff)
		}
	})
}

// deaf is a Store that obeys, and whose answers to writes do not arrive for a while.
type deaf struct {
	*memory
	silent atomic.Bool
}

func (d *deaf) Write(ctx context.Context, lease leadership.Lease) (leadership.Lease, error) {
	written, err := d.memory.Write(ctx, lease)
	if d.silent.Load() {
		<-ctx.Done()
		return leadership.Lease{}, ctx.Err()
	}
	return written, err
}

// TestLeaseIsReleasedWithoutTheAnswerToTheLastRenewal: a leader can be stopped in the middle of a renewal, so it does not know the version
// of its Lease.
func TestLeaseIsReleasedWithoutTheAnswerToTheLastRenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &deaf{memory: free()}
		a := join(t, store, "a")
		<-a.led
		b := join(t, store, "b")
		time.Sleep(time.Minute)
		store.silent.Store(true)
		time.Sleep(3 * time.Second) // a renewal is under way
		a.stop()
		if err := <-a.end; err != nil {
			t.Fatal(err)
		}
		store.silent.Store(false)
		if err := a.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if !b.leads() {
			t.Error("the lease was not released")
		}
	})
}

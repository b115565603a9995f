package membership

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/reactor/leadership"
	"github.com/kopf-wasm/kopf/reactor/leadership/leadershiptest"
)

var errRefused = errors.New("refused")

// partly refuses to write the Leases of members when it is closed.
type partly struct {
	*memory
	closed bool
}

func (p *partly) Of(member string) leadership.Store { return closable{p.memory.Of(member), p} }

type closable struct {
	leadership.Store
	of *partly
}

func (c closable) Write(ctx context.Context, state leadership.Lease) (leadership.Lease, error) {
	if c.of.closed {
		return leadership.Lease{}, errRefused
	}
	return c.Store.Write(ctx, state)
}

func TestCoordinatorIsReleasedEvenIfTheMemberCannotBe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		leases := &partly{memory: newMemory()}
		m := New(Options{Member: "m", Identity: "m", Leases: leases, Terms: leadershiptest.Terms(t), Log: func(text string) { t.Log(text) }})
		ctx, stop := context.WithCancel(t.Context())
		led, ended := make(chan struct{}), make(chan error, 1)
		go func() { ended <- m.Run(ctx, func() { close(led) }) }()
		<-led
		time.Sleep(time.Minute)
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		leases.closed = true
		if err := m.Release(t.Context()); !errors.Is(err, errRefused) {
			t.Errorf("got %v", err)
		}
		if holder := leases.leases[electionLease].Holder; holder != "" {
			t.Errorf("the coordinator is still %q", holder)
		}
	})
}

// unlisted refuses to list and to delete Leases for a while.
type unlisted struct {
	*memory
	lists, deletes atomic.Bool
}

func (u *unlisted) List(ctx context.Context) (map[string]leadership.Lease, error) {
	if u.lists.Load() {
		return nil, errRefused
	}
	return u.memory.List(ctx)
}

func (u *unlisted) Delete(ctx context.Context, member string, state leadership.Lease) error {
	if u.deletes.Load() {
		return errRefused
	}
	return u.memory.Delete(ctx, member, state)
}

// TestFailuresOfListingsAreLoggedWhenTheyBeginAndEnd: the Leases are listed twice a second.
func TestFailuresOfListingsAreLoggedWhenTheyBeginAndEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		leases := &unlisted{memory: newMemory()}
		leases.put("gone", leadership.Lease{}) // of a member that has ended
		leases.lists.Store(true)
		leases.deletes.Store(true)
		var mu sync.Mutex // guards the texts
		var said []string
		m := New(Options{Member: "m", Identity: "m", Leases: leases, Terms: leadershiptest.Terms(t), Log: func(text string) {
			mu.Lock()
			defer mu.Unlock()
			if strings.Contains(text, "again") {
				said = append(said, text)
			}
		}})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx, func() {}) }()
		for _, fails := range []*atomic.Bool{&leases.lists, &leases.deletes} {
			time.Sleep(time.Hour)
			fails.Store(false)
		}
		time.Sleep(time.Hour)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		want := []string{
			"The leases of the members could not be listed, which is tried again: refused", "The leases of the members can be listed again.",
			"The lease of a former member could not be deleted, which is tried again: refused", "The leases of former members can be deleted again.",
		}
		if diff := cmp.Diff(want, said); diff != "" {
			t.Errorf("the log (-want +got):\n%s", diff)
		}
	})
}

// blinking does not see that the third member has given up its Lease: it looks rarely, and the coordinator deletes the Lease soon.
type blinking struct{ *memory }

func (b blinking) List(ctx context.Context) (map[string]leadership.Lease, error) {
	all, err := b.memory.List(ctx)
	maps.DeleteFunc(all, func(name string, lease leadership.Lease) bool { return name == "third" && lease.Holder == "" })
	return all, err
}

// TestMemberThatHasEndedDoesNotReturn: a new coordinator may have missed why a Lease does not exist any more.
func TestMemberThatHasEndedDoesNotReturn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		leases := newMemory()
		var mu sync.Mutex // guards the texts
		var said []string
		start := func(name string, of Leases) (stop func()) {
			m := New(Options{Member: name, Identity: name, Leases: of, Terms: leadershiptest.Terms(t), Log: func(text string) {
				mu.Lock()
				defer mu.Unlock()
				if name == "second" && strings.Contains(text, "members share") {
					said = append(said, text)
				}
			}})
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- m.Run(ctx, func() {}) }()
			time.Sleep(time.Minute) // it is a member
			return func() {
				cancel()
				if err := errors.Join(<-ended, m.Release(t.Context())); err != nil {
					t.Error(err)
				}
			}
		}
		stopFirst := start("first", leases)
		stopSecond := start("second", blinking{leases})
		stopThird := start("third", leases)
		stopThird()
		for slices.Contains(leases.names(), "third") {
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(leadershiptest.Terms(t).Retry) // the second one has seen that
		stopFirst()
		time.Sleep(time.Minute)
		stopSecond()
		want := []string{
			"2 members share the objects in generation 3: first, second.", "3 members share the objects in generation 4: first, second, third.",
			"2 members share the objects in generation 5: first, second.", "1 members share the objects in generation 6: second.",
		}
		if diff := cmp.Diff(want, said); diff != "" {
			t.Errorf("the assignments (-want +got):\n%s", diff)
		}
	})
}

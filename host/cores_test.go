package host

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// unshared is the share of tests that take cores without a module.
var unshared = NewShare(0, 0)

func takeCore() { unshared.take() }

func leaveCore() { unshared.leave() }

// contest lets shares compete for cores: each has some calls that always want to compute, in
// slices of a millisecond. It returns how many slices each share has got.
type contest struct {
	*scheduler
	t       *testing.T
	time    time.Time
	shares  []*Share
	running []*Share
	pending map[*Share][]chan struct{}
	slices  []int
}

func newContest(t *testing.T, size int) *contest {
	t.Helper()
	c := &contest{t: t, time: time.Unix(0, 0), pending: map[*Share][]chan struct{}{}}
	c.scheduler = newScheduler(size, func() time.Time { return c.time })
	return c
}

// add adds a share with a number of calls.
func (c *contest) add(weight, calls int) {
	s := &Share{owner: c.scheduler, weight: weight}
	c.shares, c.slices = append(c.shares, s), append(c.slices, 0)
	for range calls {
		c.want(s)
	}
}

func (c *contest) want(s *Share) {
	if granted := c.ask(s); granted != nil {
		c.pending[s] = append(c.pending[s], granted)
		return
	}
	c.running = append(c.running, s)
}

// run lets all running calls use one slice, some times, and then ask again.
func (c *contest) run(slices int) {
	c.t.Helper()
	for range slices {
		c.time = c.time.Add(time.Millisecond)
		ended := c.running
		c.running = nil
		for _, s := range ended {
			c.leave(s)
			for i, share := range c.shares {
				if share == s {
					c.slices[i]++
				}
			}
			c.granted()
			c.want(s)
		}
		if len(c.running) != c.size {
			c.t.Fatalf("%d of %d cores are used", len(c.running), c.size)
		}
	}
}

// granted moves the calls that have got a core.
func (c *contest) granted() {
	for s, waiting := range c.pending {
		for len(waiting) > 0 {
			select {
			case <-waiting[0]:
				waiting = waiting[1:]
				c.running = append(c.running, s)
				continue
			default:
			}
			break
		}
		c.pending[s] = waiting
	}
}

// TestComputingTimeIsSharedByWeight: and not by the number of calls that want to compute.
func TestComputingTimeIsSharedByWeight(t *testing.T) {
	c := newContest(t, 2)
	c.add(100, 200)
	c.add(100, 4)
	c.add(200, 4)
	c.run(2000)
	for i, want := range []int{1000, 1000, 2000} {
		if got := c.slices[i]; got < want-60 || got > want+60 {
			t.Errorf("share %d has got %d slices of 4000, want about %d", i, got, want)
		}
	}
}

// TestUnusedComputingTimeIsNotSaved: a share that had all cores before, because no other one
// wanted them, and one that wanted none, have equal parts afterwards, soon.
func TestUnusedComputingTimeIsNotSaved(t *testing.T) {
	c := newContest(t, 1)
	c.add(100, 3)
	c.run(5000)
	c.add(100, 3)
	c.run(1000)
	if got := c.slices[1]; got < 450 || got > 600 {
		t.Errorf("the new share has got %d slices of 1000", got)
	}
	if got := c.slices[0] - 5000; got < 400 {
		t.Errorf("the share that was alone before has got %d slices of 1000", got)
	}
}

// TestWithoutCallsSharesAreForgotten: the scheduler knows only those that compute or wait.
func TestWithoutCallsSharesAreForgotten(t *testing.T) {
	s := newScheduler(1, time.Now)
	for range 10 {
		share := &Share{owner: s, weight: 1}
		share.take()
		share.leave()
	}
	if len(s.active) != 0 || s.free != 1 {
		t.Errorf("%d shares are active, %d cores are free", len(s.active), s.free)
	}
}

// slicing is a call that computes for some slices, and then ends.
func slicing(t *testing.T, s *Share, slices int, during func()) {
	now := time.Unix(0, 0)
	clock := func() time.Time {
		now = now.Add(2 * sliceOfCore)
		return now
	}
	b := newBudget(t.Context(), &Options{Clock: clock, Share: s, ComputeLimit: time.Hour}, now)
	b.queued = &queue{}
	s.take()
	defer s.leave()
	for range slices {
		during()
		b.yield()
	}
}

// TestCallsHaveTurns: calls that take a few slices each end one after the other. Each call that has begun needs an
// instance, so a burst of them would need as many instances as calls.
func TestCallsHaveTurns(t *testing.T) {
	s := &Share{owner: newScheduler(2, time.Now), weight: 1}
	var all sync.WaitGroup
	var begun, most atomic.Int64
	for range 200 {
		all.Go(func() {
			first := true
			slicing(t, s, turnOfCall/2, func() {
				if first {
					first = false
					n := begun.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
				}
			})
			begun.Add(-1)
		})
	}
	all.Wait()
	if most := most.Load(); most > 4 { // a call that has left its core may still be counted
		t.Errorf("%d calls had begun at once on 2 cores", most)
	}
}

// TestTurnsEnd: a call that computes for long keeps its core for a turn only, while another one of its share waits.
func TestTurnsEnd(t *testing.T) {
	s := &Share{owner: newScheduler(1, time.Now), weight: 1}
	var other sync.WaitGroup
	var begun atomic.Bool
	before := 0
	slicing(t, s, 5*turnOfCall, func() {
		if before == 0 {
			other.Go(func() { slicing(t, s, 1, func() { begun.Store(true) }) })
			for s.waits() == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		if !begun.Load() {
			before++
		}
	})
	other.Wait()
	if before > turnOfCall {
		t.Errorf("the other call had no core for %d slices, want %d at most", before, turnOfCall)
	}
}

func (s *Share) waits() int {
	s.owner.mu.Lock()
	defer s.owner.mu.Unlock()
	return len(s.waiting)
}

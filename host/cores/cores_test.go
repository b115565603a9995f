package cores

import (
	"testing"
	"time"
)

// contest lets shares compete for cores: each has some calls that always want to compute, in
// slices of a millisecond. It returns how many slices each share has got.
type contest struct {
	*Scheduler
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
	c.Scheduler = New(size, func() time.Time { return c.time })
	return c
}

// add adds a share with a number of calls.
func (c *contest) add(weight, calls int) {
	s := &Share{owner: c.Scheduler, weight: weight}
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
	s := New(1, time.Now)
	for range 10 {
		share := &Share{owner: s, weight: 1}
		share.Take()
		share.Leave()
	}
	if len(s.active) != 0 || s.free != 1 {
		t.Errorf("%d shares are active, %d cores are free", len(s.active), s.free)
	}
}

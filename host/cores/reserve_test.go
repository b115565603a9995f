package cores

import (
	"testing"
	"time"
)

// spins lets the calls of a share use some slices of a millisecond, one after the other, and returns how many cores it has had at
// most after the first slice.
func (c *contest) spins(slices int) (most int) {
	c.t.Helper()
	for range slices {
		c.pass(time.Millisecond)
		most = max(most, len(c.running))
	}
	return most
}

// pass lets some time pass, and all running calls ask again.
func (c *contest) pass(d time.Duration) {
	c.time = c.time.Add(d)
	ended := c.running
	c.running = nil
	for _, s := range ended {
		c.leave(s)
		c.granted()
		c.want(s)
	}
}

// visit lets a share have a core for a moment. It reports whether it had to wait for a slice of the others.
func (c *contest) visit(s *Share) (waited bool) {
	c.t.Helper()
	granted := c.ask(s)
	for range 3 {
		if granted == nil {
			break
		}
		waited = true
		c.pass(time.Millisecond)
		select {
		case <-granted:
			granted = nil
		default:
		}
	}
	if granted != nil {
		c.t.Fatal("the share gets no core")
	}
	c.time = c.time.Add(100 * time.Microsecond)
	c.leave(s)
	c.granted()
	return waited
}

func (c *contest) newShare(weight int) *Share { return &Share{owner: c.Scheduler, weight: weight} }

// TestACoreIsKeptForSharesThatUseLittle: next to one that would use all cores, they find a free one, except for the first time.
func TestACoreIsKeptForSharesThatUseLittle(t *testing.T) {
	for _, size := range []int{2, 4, 16} {
		c := newContest(t, size)
		c.add(100, 2*size)
		if got := c.spins(500); got != size {
			t.Errorf("%d cores: alone, a share has %d at most", size, got)
		}
		little := c.newShare(100)
		c.visit(little)
		for i := range 200 {
			if got := c.spins(3); got > size-1 {
				t.Fatalf("%d cores: next to one that uses little, a share has %d", size, got)
			}
			if c.visit(little) {
				t.Fatalf("%d cores: visit %d has waited for a core", size, i)
			}
		}
	}
}

// TestAKeptCoreIsGivenBack: to those that compute, soon after the last call of the share that used little.
func TestAKeptCoreIsGivenBack(t *testing.T) {
	c := newContest(t, 2)
	c.add(100, 8)
	c.spins(500)
	little := c.newShare(100)
	c.visit(little)
	c.visit(little)
	if got := c.spins(int(reserved/time.Millisecond) - 5); got != 1 {
		t.Errorf("meanwhile, the others have %d cores", got)
	}
	c.spins(10)
	for range 20 {
		if c.spins(1); len(c.running) != 2 {
			t.Fatalf("afterwards, the others have %d cores", len(c.running))
		}
	}
}

// TestNoCoreIsKeptBetweenSharesThatComputeMuch: all cores are used, in parts of their weights.
func TestNoCoreIsKeptBetweenSharesThatComputeMuch(t *testing.T) {
	for _, size := range []int{2, 8} {
		c := newContest(t, size)
		for range 3 {
			c.add(100, 2*size)
		}
		c.spins(500)
		for range 500 {
			if c.spins(1); len(c.running) != size {
				t.Fatalf("%d of %d cores are used", len(c.running), size)
			}
		}
	}
}

// TestTheOnlyCoreIsNotKept: it goes to the share that has used least at the end of the slice.
func TestTheOnlyCoreIsNotKept(t *testing.T) {
	c := newContest(t, 1)
	c.add(100, 4)
	c.spins(300)
	little := c.newShare(100)
	for range 100 {
		c.visit(little)
		if c.spins(3); len(c.running) != 1 {
			t.Fatal("the core is not used")
		}
	}
}

// TestAShareAloneIsNotBoundByItself: it used little when it asked for its first core.
func TestAShareAloneIsNotBoundByItself(t *testing.T) {
	c := newContest(t, 4)
	c.add(100, 8)
	for range 500 {
		if c.spins(1); len(c.running) != 4 {
			t.Fatalf("%d of 4 cores are used", len(c.running))
		}
	}
}

// TestManySharesThatUseLittleUseAllCores: each of them is modest, so none is bound.
func TestManySharesThatUseLittleUseAllCores(t *testing.T) {
	c := newContest(t, 2)
	for range 20 {
		c.add(100, 1)
	}
	for range 500 {
		if c.spins(1); len(c.running) != 2 {
			t.Fatalf("%d of 2 cores are used", len(c.running))
		}
	}
}

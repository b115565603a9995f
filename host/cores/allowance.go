package cores

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"
)

// allowance is the computing time that a share has left of its rate. The scheduler guards its
// fields.
//
// A share without a rate counts what it uses, and nothing more.
type allowance struct {
	rate   time.Duration // for each minute, and at once; 0: no limit
	left   time.Duration // below zero: used in advance, by calls that had a core
	filled time.Time     // up to which left has grown
	urgent int           // calls at the front of the queue that get a core in any case
	timer  *time.Timer   // grants cores when there is time left again; nil: none runs

	delayed atomic.Uint64 // calls that had to wait for the rate
}

// NoRate is the rate of a share without a limit; 0 is as good.
const NoRate = time.Duration(math.MaxInt64)

// grain is the least time that a share gets after it has waited, if its rate is as much.
const grain = 10 * time.Millisecond

func (a *allowance) change(rate time.Duration, now time.Time) {
	if rate <= 0 || rate == NoRate {
		rate = 0
	}
	if a.rate > 0 {
		a.fill(now)
	} else {
		a.left, a.filled = rate, now
	}
	a.rate, a.left = rate, min(a.left, rate)
}

// fill adds the time that a share may use for what has passed.
func (a *allowance) fill(now time.Time) {
	gained := float64(now.Sub(a.filled)) * float64(a.rate) / float64(time.Minute)
	a.left, a.filled = min(a.left+time.Duration(gained), a.rate), now
}

// pause is how long the share has to wait for its next grain.
func (a *allowance) pause() time.Duration {
	missing := min(grain, a.rate) - a.left
	return time.Duration(float64(missing)*float64(time.Minute)/float64(a.rate)) + time.Nanosecond
}

// allows reports whether a share may have a core now, and otherwise lets it have one later. The
// caller has just called count.
func (c *Scheduler) allows(s *Share) bool {
	if s.rate == 0 || s.urgent > 0 {
		return true
	}
	s.fill(c.since)
	if s.left > 0 {
		return true
	}
	if s.timer == nil {
		s.timer = time.AfterFunc(s.pause(), func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			s.timer = nil
			c.count()
			c.grant()
		})
	}
	return false
}

// withdraw takes a call out of the queue. It is false if the call has got a core. The second
// result is as that of insist.
func (c *Scheduler) withdraw(s *Share, granted chan struct{}) (bool, *RateError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.Index(s.waiting, granted)
	if at < 0 {
		return false, nil
	}
	c.count()
	exhausted := c.exhausted(s)
	s.waiting = slices.Delete(s.waiting, at, at+1)
	c.retire(s)
	return true, exhausted
}

// insist lets a call that waits have the next core of its share, whatever is left of the rate.
// The result is the rate, if the call waits for it.
func (c *Scheduler) insist(s *Share, granted chan struct{}) *RateError {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.Index(s.waiting, granted)
	if at < 0 || s.rate == 0 {
		return nil
	}
	c.count()
	exhausted := c.exhausted(s)
	s.waiting = slices.Insert(slices.Delete(s.waiting, at, at+1), 0, granted)
	s.urgent++
	c.grant()
	return exhausted
}

// exhausted returns the rate, if the share has used it up. The caller has just called count.
func (c *Scheduler) exhausted(s *Share) *RateError {
	if s.rate == 0 {
		return nil
	}
	if s.fill(c.since); s.left > 0 {
		return nil
	}
	return &RateError{s.rate}
}

// Delayed returns how many calls have waited so far, because the share had used up its rate.
func (s *Share) Delayed() uint64 { return s.delayed.Load() }

// RateError says that a share has used up its rate. Nil: it has not.
type RateError struct{ rate time.Duration }

func (e *RateError) Error() string {
	return fmt.Sprintf("the limit ComputeRate of %v a minute is reached: let handlers compute less, or raise the limit with --limit ComputeRate=DURATION", e.rate)
}

// Because adds the rate to the cause of the end of a call.
func (e *RateError) Because(cause error) error {
	if e == nil {
		return cause
	}
	return fmt.Errorf("%w: %w", cause, e)
}

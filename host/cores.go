package host

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// cores bounds the guests of all modules that compute at once to the number of processors.
// More of them would not be faster, and would need more instances in each burst. A guest
// that computes for long yields to others after each slice. A guest that sleeps gives up its
// core.
//
// The variable is global because processors belong to the process.
var cores = newScheduler(runtime.GOMAXPROCS(0), time.Now)

// DefaultWeight is the default of Options.ComputeWeight.
const DefaultWeight = 100

// memoryOfShares is how far the time of one share may be ahead of another one that wants
// cores: the longest time, for equal weights, for which a share gets no core because of what
// it has used before. Without this bound, a share that had all cores while no other one wanted
// them would wait for as long.
const memoryOfShares = 20 * time.Millisecond

// Share is the part of the processors that all modules of an operator have together, while
// other shares want them, too. Without others, it may have all of them. It is safe for
// concurrent use.
type Share struct {
	owner  *scheduler
	weight int

	// The scheduler guards the fields below.
	used    time.Duration // time on cores for a weight of DefaultWeight, since the last change of running
	running int           // cores that the share has
	waiting []chan struct{}
}

// NewShare makes a share of the processors. The weight is as Options.ComputeWeight; 0: its
// default.
func NewShare(weight int) *Share {
	return &Share{owner: cores, weight: cmp.Or(max(weight, 0), DefaultWeight)}
}

// scheduler gives cores to shares: a free core goes to the share that has used least for its
// weight, and within a share to the call that has waited longest.
type scheduler struct {
	size int
	now  func() time.Time

	mu     sync.Mutex // guards the fields below, and all shares
	free   int
	active []*Share      // those that have cores or wait for them
	since  time.Time     // up to which the time of the active shares is counted
	least  time.Duration // the least time of an active share at the last change
}

func newScheduler(size int, now func() time.Time) *scheduler {
	return &scheduler{size: size, now: now, free: size}
}

// take waits for a core.
func (s *Share) take() {
	if granted := s.owner.ask(s); granted != nil {
		<-granted
	}
}

// leave gives up a core.
func (s *Share) leave() { s.owner.leave(s) }

// ask takes a core, and returns nil. If none is free, it returns a channel that is closed when
// the share has got one.
func (c *scheduler) ask(s *Share) (granted chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count()
	if s.running == 0 && len(s.waiting) == 0 {
		s.used = min(max(s.used, c.least), c.least+memoryOfShares)
		c.active = append(c.active, s)
	}
	if c.free > 0 {
		c.free--
		s.running++
		return nil
	}
	granted = make(chan struct{})
	s.waiting = append(s.waiting, granted)
	return granted
}

// leave gives the core of a share to the share that should have it next.
func (c *scheduler) leave(s *Share) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count()
	s.running--
	c.free++
	if next := c.next(); next != nil {
		c.free--
		next.running++
		close(next.waiting[0])
		next.waiting[0] = nil
		if next.waiting = next.waiting[1:]; len(next.waiting) == 0 {
			next.waiting = nil // frees the old array
		}
	}
	if s.running == 0 && len(s.waiting) == 0 {
		c.active = slices.DeleteFunc(c.active, func(a *Share) bool { return a == s })
	}
}

// next returns the waiting share that has used least; nil if none waits.
func (c *scheduler) next() (next *Share) {
	for _, s := range c.active {
		if len(s.waiting) > 0 && (next == nil || s.used < next.used) {
			next = s
		}
	}
	if next != nil {
		for _, s := range c.active {
			s.used = min(s.used, next.used+memoryOfShares)
		}
	}
	return next
}

// count adds the time since the last change to the shares that have cores.
func (c *scheduler) count() {
	now := c.now()
	elapsed := now.Sub(c.since)
	c.since = now
	for i, s := range c.active {
		s.used += elapsed * time.Duration(s.running) * DefaultWeight / time.Duration(s.weight)
		if i == 0 || s.used < c.least {
			c.least = s.used
		}
	}
}

// queue is the time in which the calls of an instance have waited for a core. One call at a time
// waits.
type queue struct {
	waited atomic.Int64 // nanoseconds, without the present wait
	since  atomic.Int64 // when the present wait began, in nanoseconds since started; 0: no call waits
}

// started is when the process began to count.
var started = time.Now()

func (q *queue) begin() { q.since.Store(int64(time.Since(started))) }

func (q *queue) end() { q.waited.Add(int64(time.Since(started)) - q.since.Swap(0)) }

// total is the time so far.
func (q *queue) total() time.Duration {
	total := q.waited.Load()
	if since := q.since.Load(); since != 0 {
		total += int64(time.Since(started)) - since
	}
	return time.Duration(total)
}

// away runs a function that waits, without the core of the call.
func (c *call) away(do func()) time.Duration {
	if c.owner != nil {
		waits(c.owner.functions.Env)
	}
	return c.withoutCore(do)
}

// withoutCore gives up the core while it runs a function; nil does nothing. It returns the
// elapsed time, including the wait for a core.
func (b *budget) withoutCore(do func()) time.Duration {
	began := b.now()
	b.share.leave()
	do()
	b.queued.begin()
	b.share.take()
	b.queued.end()
	return b.now().Sub(began)
}

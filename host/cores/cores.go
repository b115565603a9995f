package cores

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/internal/processors"
)

// process are the cores of this process. The variable is global because processors belong to
// the process.
var process = New(processors.Number(), time.Now)

// DefaultWeight is the weight of a share that has no other one.
const DefaultWeight = 100

// memoryOfShares is how far the time of one share may be ahead of another one that wants
// cores: the longest time, for equal weights, for which a share gets no core because of what
// it has used before. Without this bound, a share that had all cores while no other one wanted
// them would wait for as long.
const memoryOfShares = 20 * time.Millisecond

// Share is the part of the cores that all modules of an operator have together, while
// other shares want them, too. Without others, it may have all of them. It is safe for
// concurrent use.
type Share struct {
	owner *Scheduler

	// The scheduler guards the fields below.
	weight  int
	used    time.Duration // time on cores for a weight of DefaultWeight, since the last change of running
	running int           // cores that the share has
	waiting []chan struct{}
	average
	allowance
}

// NewShare makes a share of the cores of this process. The weight counts next to those of other
// shares; 0: DefaultWeight. The rate is the computing time that the share may use in each minute,
// and at once; 0: no limit.
func NewShare(weight int, rate time.Duration) *Share { return process.NewShare(weight, rate) }

// NewShare makes a share of other cores than those of this process.
func (c *Scheduler) NewShare(weight int, rate time.Duration) *Share {
	s := &Share{owner: c}
	s.Change(weight, rate)
	return s
}

// Change changes the weight and the rate of a share. What it has used of its rate stays used.
func (s *Share) Change(weight int, rate time.Duration) {
	s.owner.mu.Lock()
	defer s.owner.mu.Unlock()
	s.owner.count()
	s.weight = cmp.Or(max(weight, 0), DefaultWeight)
	s.change(rate, s.owner.since)
}

// Scheduler gives cores to shares: a free core goes to the share that has used least for its
// weight, and within a share to a call in its turn, or else to the one that has waited longest.
// One core is kept free for shares that use little, see reserve.
type Scheduler struct {
	size int
	now  func() time.Time

	mu     sync.Mutex // guards the fields below, and all shares
	free   int
	active []*Share      // those that have cores or wait for them
	since  time.Time     // up to which the time of the active shares is counted
	least  time.Duration // the least time of an active share at the last change
	reserve
}

// New makes a scheduler of so many cores, with a clock.
func New(size int, now func() time.Time) *Scheduler {
	return &Scheduler{size: size, now: now, free: size}
}

// Take waits for a core, also if the share has used up its rate: for what ends soon.
func (s *Share) Take() { s.Insist(s.owner.ask(s)) }

// Insist waits for a core that was asked for, also if the share has used up its rate.
func (s *Share) Insist(granted chan struct{}) {
	if granted != nil {
		_ = s.owner.insist(s, granted) // the caller waits in any case
		<-granted
	}
}

// Enter waits for a core. If the context ends before, the caller gets none, and the cause. The
// cause names the rate, if this is why there was no core.
func (s *Share) Enter(ctx context.Context) error {
	granted := s.owner.ask(s)
	if comes(ctx, granted) {
		return nil
	}
	if withdrawn, exhausted := s.owner.withdraw(s, granted); withdrawn {
		return exhausted.Because(context.Cause(ctx))
	}
	return nil // the core was granted meanwhile
}

// Await waits for a core that a call has asked for to continue. After the end of the context, it waits as Insist,
// because the call has to end. The result says why it has waited until then; nil: for other calls.
func (s *Share) Await(ctx context.Context, granted chan struct{}) *RateError {
	if comes(ctx, granted) {
		return nil
	}
	exhausted := s.owner.insist(s, granted)
	<-granted
	return exhausted
}

// comes waits for a core that was asked for, and reports whether it comes before the end of the context.
func comes(ctx context.Context, granted chan struct{}) bool {
	if granted == nil {
		return true
	}
	select {
	case <-granted:
		return true
	case <-ctx.Done():
		return false
	}
}

// Compute runs a function of the host that only computes for the operator of the share. It waits for a core, and takes time of
// the rate, like a call of a handler. After the end of the context, it does not wait for the rate.
func (s *Share) Compute(ctx context.Context, do func()) {
	_ = s.Await(ctx, s.owner.ask(s)) // what the caller has begun has to end
	defer s.Leave()
	do()
}

// Leave gives up a core.
func (s *Share) Leave() { s.owner.leave(s) }

// Ask takes a core, and returns nil. If none is free, it returns a channel that is closed when the
// share has got one: for Insist or Await.
func (s *Share) Ask() (granted chan struct{}) { return s.owner.ask(s) }

// Pass gives the core of a call to the share that should have it next, and asks for one again. A call
// in its turn comes before the others of its share. The result is as that of Ask, and never nil.
func (s *Share) Pass(turn bool) (granted chan struct{}) { return s.owner.pass(s, turn) }

// ask takes a core, and returns nil. If none is free, it returns a channel that is closed when
// the share has got one.
func (c *Scheduler) ask(s *Share) (granted chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count()
	if s.running == 0 && len(s.waiting) == 0 {
		s.used = min(max(s.used, c.least), c.least+memoryOfShares)
		s.follow(c.since, 0)
		c.active = append(c.active, s)
	}
	now := c.bounds()
	c.notice(s, now)
	allowed := c.allows(s)
	if c.free > 0 && allowed && now.admit(s) {
		c.free--
		s.running++
		return nil
	}
	if !allowed {
		s.delayed.Add(1)
	}
	granted = make(chan struct{})
	s.waiting = append(s.waiting, granted)
	return granted
}

// pass gives the core of a call to the share that should have it next, and asks for one again. A call in its
// turn comes before the others of its share. The result is as that of ask, and never nil.
func (c *Scheduler) pass(s *Share, turn bool) (granted chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count()
	s.running--
	c.free++
	c.notice(s, c.bounds())
	if !c.allows(s) {
		s.delayed.Add(1)
	}
	granted = make(chan struct{})
	at := len(s.waiting)
	if turn {
		at = min(s.urgent, at)
	}
	s.waiting = slices.Insert(s.waiting, at, granted)
	c.grant()
	return granted
}

// leave gives the core of a share to the share that should have it next.
func (c *Scheduler) leave(s *Share) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count()
	s.running--
	c.free++
	c.grant()
	c.retire(s)
}

// grant gives free cores to the shares that should have them next.
func (c *Scheduler) grant() {
	for c.free > 0 {
		next := c.next()
		if next == nil {
			return
		}
		c.free--
		next.running++
		next.urgent = max(next.urgent-1, 0)
		close(next.waiting[0])
		next.waiting[0] = nil
		if next.waiting = next.waiting[1:]; len(next.waiting) == 0 {
			next.waiting = nil // frees the old array
		}
	}
}

// retire forgets a share without calls.
func (c *Scheduler) retire(s *Share) {
	if s.running == 0 && len(s.waiting) == 0 {
		c.active = slices.DeleteFunc(c.active, func(a *Share) bool { return a == s })
	}
}

// next returns the waiting share that has used least; nil if none waits that may have a core.
func (c *Scheduler) next() (next *Share) {
	now := c.bounds()
	for _, s := range c.active {
		if len(s.waiting) > 0 && (next == nil || s.used < next.used) && now.admit(s) && c.allows(s) {
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
func (c *Scheduler) count() {
	now := c.now()
	elapsed := now.Sub(c.since)
	c.since = now
	for i, s := range c.active {
		s.used += elapsed * time.Duration(s.running) * DefaultWeight / time.Duration(s.weight)
		s.left -= elapsed * time.Duration(s.running)
		s.follow(now, s.running)
		if i == 0 || s.used < c.least {
			c.least = s.used
		}
	}
}

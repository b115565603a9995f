package host

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/kopf-wasm/kopf/host/cores"
	"github.com/kopf-wasm/kopf/host/guests"
)

// budget is the computing time of one call, and what was used of it.
type budget struct {
	ctx   context.Context  // its end ends the call, after the grace
	clock func() time.Time // see Options.Clock
	limit time.Duration    // of computing time
	share *cores.Share     // of the cores
	grace time.Duration

	began   time.Time     // the call, or the step of a guest that waits inside of a call
	slept   time.Duration // not counted as computing
	queued  *queue        // of the instance
	rested  time.Duration // the value of slept when began was set
	stopAt  time.Time     // end of the grace, once the context is done
	entered int           // number of host functions that were called

	registering bool             // initialisation and registration see no secrets, and do not wait for the rate of the share
	exhausted   *cores.RateError // the call waited for the rate of its share when its context ended; nil: it did not

	turn
	uncounted
}

// turn is what the call has had of a core, and what it keeps without one.
type turn struct {
	shared  time.Time // when other calls last had a chance to get the core
	slices  int       // how often they had one
	yielded time.Time // the last yield, or the begin
	called  int       // the value of entered at the last yield
	stack   stackUse
}

// uncounted is what the call has used since its usage was counted.
type uncounted struct {
	yields       int           // slices that were used up
	settled      time.Time     // the time up to which usage is counted
	settledSleep time.Duration // the value of slept at settled
}

func newBudget(ctx context.Context, o *Options, now time.Time) budget {
	if o.Clock != nil {
		now = o.Clock()
	}
	return budget{ctx: ctx, clock: o.Clock, limit: o.ComputeLimit, share: o.Share, grace: o.StopGrace, began: now, turn: turn{shared: now, yielded: now}, uncounted: uncounted{settled: now}}
}

// now returns the time that computing takes.
func (b *budget) now() time.Time {
	if b.clock == nil {
		return time.Now()
	}
	return b.clock()
}

// checkEvery is the number of light host functions between two checks. The guest's own count does
// not include the cost of host functions.
const checkEvery = 32

// enter starts a host function, and ends the call if it exceeds a limit. After a slice it lets others compute, and reports
// that. Functions that are not light can take longer than a slice.
func (b *budget) enter(light bool) (rested bool) {
	if b.entered++; light && b.entered%checkEvery != 0 {
		return false
	}
	now := b.now()
	b.checkAt(now)
	return b.rest(now)
}

// yield counts a budget of the guest's code, and ends the call if it exceeds a limit. After a slice it lets others compute,
// and reports that.
func (b *budget) yield() (rested bool) {
	b.yields++
	now := b.outOfCore()
	b.checkAt(now)
	return b.rest(now)
}

// rest lets others compute after a slice, and reports that.
func (b *budget) rest(now time.Time) (rested bool) {
	if now.Sub(b.shared) <= sliceOfCore {
		return false
	}
	// The rest of the process comes first: a call that gets the core of this one would run before all goroutines that wait,
	// and so would its successor, until the runtime notices after ten milliseconds.
	runtime.Gosched()
	b.pass()
	b.shared = b.now()
	b.yielded = b.shared
	b.slept += b.shared.Sub(now)
	return true
}

// longestBudget is how long a budget of code takes at most: see prepare.Budget.
const longestBudget = 10 * time.Millisecond

// outOfCore leaves out the time in which the system let other processes run, and returns the current time: the code of a budget
// without a call of a host function cannot take longer by itself. Otherwise, calls would exceed their limit on a machine that is
// overloaded.
func (b *budget) outOfCore() time.Time {
	now := b.now()
	if away := now.Sub(b.yielded) - longestBudget; away > 0 && b.called == b.entered {
		b.slept += away
	}
	b.yielded, b.called = now, b.entered
	return now
}

// sliceOfCore is how long a call keeps its core while other calls wait for one.
const sliceOfCore = time.Millisecond

// check ends the call if it exceeds a limit, or if its context ended longer ago than the grace.
func (b *budget) check() { b.checkAt(b.now()) }

func (b *budget) checkAt(now time.Time) {
	if now.Sub(b.began)-(b.slept-b.rested) > b.limit {
		guests.Stop(fmt.Errorf("%w: more than %v without giving back control", ErrCompute, b.limit))
	}
	err := b.ctx.Err()
	switch {
	case err == nil:
	case b.stopAt.IsZero():
		b.stopAt = now.Add(b.grace)
	case now.After(b.stopAt):
		guests.Stop(b.exhausted.Because(context.Cause(b.ctx)))
	}
}

// newStep starts a new step inside of the call: the limit of computing time begins again.
func (b *budget) newStep() { b.began, b.rested = b.now(), b.slept }

// used returns what was used since its last call.
func (b *budget) used() (computing time.Duration, yields int) {
	now := b.now()
	computing, yields = max(0, now.Sub(b.settled)-(b.slept-b.settledSleep)), b.yields
	b.settled, b.settledSleep, b.yields = now, b.slept, 0
	return computing, yields
}

// withoutCore gives up the core while it runs a function. It returns the
// elapsed time, including the wait for a core.
func (b *budget) withoutCore(do func()) time.Duration {
	b.stack.count()
	began := b.now()
	b.share.Leave()
	do()
	b.queued.begin()
	b.regain(b.share.Ask())
	return b.now().Sub(began)
}

// turnOfCall is how many slices a call has before the other calls of its share. With turns of a single slice, each
// call of a guest that takes longer for one would begin next to all others, in an instance of its own.
const turnOfCall = 10

// pass lets others have the core after a slice.
func (b *budget) pass() {
	b.stack.count()
	b.slices++
	b.queued.begin()
	b.regain(b.share.Pass(b.slices%turnOfCall != 0))
}

// regain waits for a core that the call has asked for to continue.
func (b *budget) regain(granted chan struct{}) {
	if b.registering { // bounded by its own limit, and others may wait for it
		b.share.Insist(granted)
	} else {
		b.exhausted = cmp.Or(b.exhausted, b.share.Await(b.ctx, granted))
	}
	b.queued.end()
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

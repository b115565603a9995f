package host

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"
)

// The clock of a guest stands still while the guest computes. It moves when a call begins
// and when the guest sleeps. All nondeterminism therefore crosses the host interface, and a
// step can be repeated.

// Clocks of WASI.
const (
	clockRealtime  = 0
	clockMonotonic = 1
	clockLast      = 3 // process and thread time: equal to the monotonic clock
)

// monotonicBase is the zero of the monotonic clocks of all guests.
var monotonicBase = time.Now().Add(-time.Second)

// clock reads a clock, in nanoseconds.
func (c *call) clock(id uint32) int64 {
	if id == clockRealtime {
		return c.now.UnixNano()
	}
	return int64(c.now.Sub(monotonicBase) + c.in.skew)
}

// wasiClockRes is clock_res_get(id, ptr): a microsecond.
func wasiClockRes(c *call, stack []uint64) {
	if i32(stack, 0) > clockLast {
		stack[0] = wasiInval
		return
	}
	stack[0] = fault(c.memory().putU64(i32(stack, 1), 1000))
}

// wasiClockTime is clock_time_get(id, precision, ptr).
func wasiClockTime(c *call, stack []uint64) {
	if i32(stack, 0) > clockLast {
		stack[0] = wasiInval
		return
	}
	stack[0] = fault(c.memory().putU64(i32(stack, 2), uint64(c.clock(i32(stack, 0)))))
}

// Layout of subscriptions and events of poll_oneoff.
const (
	subscriptionSize = 48
	eventSize        = 32
	eventClock       = 0
	clockAbsolute    = 1 // a flag
	maxSubscriptions = 1024
)

// wasiPoll is poll_oneoff(in, out, count, ptr). It waits for clocks. Streams are always
// ready: standard input is at its end, and the output streams accept everything.
func wasiPoll(c *call, stack []uint64) {
	in, out, count := i32(stack, 0), i32(stack, 1), i32(stack, 2)
	if count == 0 || count > maxSubscriptions {
		stack[0] = wasiInval
		return
	}
	subscriptions, found := c.memory().bytes(in, count*subscriptionSize)
	if !found {
		stack[0] = wasiFault
		return
	}
	waits := make([]time.Duration, count)
	for i := range waits {
		waits[i] = c.waitOf(subscriptions[i*subscriptionSize:])
	}
	wait := slices.Min(waits)
	if wait > 0 {
		c.sleep(wait)
	}
	n := uint32(0)
	for i, w := range waits {
		if w > wait {
			continue
		}
		s := subscriptions[i*subscriptionSize:]
		var event [eventSize]byte
		copy(event[:8], s[:8]) // the user's data
		event[10] = s[8]       // the type
		if !c.memory().Write(out+n*eventSize, event[:]) {
			stack[0] = wasiFault
			return
		}
		n++
	}
	stack[0] = fault(c.memory().putU32(i32(stack, 3), n))
}

// waitOf is the remaining time of a subscription.
func (c *call) waitOf(s []byte) time.Duration {
	if s[8] != eventClock {
		return 0
	}
	timeout := binary.LittleEndian.Uint64(s[24:])
	if binary.LittleEndian.Uint16(s[40:])&clockAbsolute != 0 {
		now := uint64(max(0, c.clock(binary.LittleEndian.Uint32(s[16:]))))
		timeout -= min(timeout, now)
	}
	return time.Duration(min(timeout, math.MaxInt64))
}

// maxSkew prevents an overflow of the monotonic clock: about a hundred years.
const maxSkew = 100 * 365 * 24 * time.Hour

// sleep waits, and moves the clock. It ends early when the context is done or the task is
// cancelled. The guest then has to continue, and has the grace to end. Its runtime would
// sleep again before the time is over, so sleep moves the monotonic clock forward. The
// instance is not used for other tasks afterwards.
func (c *call) sleep(wait time.Duration) {
	start := time.Now()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	early := true
	c.away(func() {
		select {
		case <-timer.C:
			early = false
		case <-c.ctx.Done():
		case <-c.woken:
		}
	})
	c.now = time.Now()
	slept := c.now.Sub(start)
	c.slept += slept
	c.warnOfSleep(slept)
	if rest := wait - slept; early && rest > 0 {
		c.in.skew = min(c.in.skew+min(rest, maxSkew), maxSkew)
		c.in.tainted = true
	}
	c.check()
}

// warnOfSleep warns once per module that a sleeping guest blocks its instance. Guests should
// wait by a step of the ABI.
func (c *call) warnOfSleep(slept time.Duration) {
	if c.owner != nil && slept >= longSleep && c.in.m.warned.CompareAndSwap(false, true) {
		c.owner.env.Log(levelWarning, fmt.Sprintf("the guest slept for %v inside of %s and blocked its instance: let it wait by a step", slept.Round(time.Millisecond), c.export))
	}
}

const longSleep = time.Second

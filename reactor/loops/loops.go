// Package loops limits how often an operator triggers itself: its own patch of an object is
// why its handlers are called for this object again, and they patch the object again.
//
// Most patches end such a chain at once, because handlers have nothing left to do. A chain
// that does not end is a mistake of the operator, such as a handler that stores the time in
// the spec.
package loops

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"
)

// DefaultRate is how often per minute an operator may trigger itself with one object, if it
// has a limit at all. The same number of calls is allowed at once, for operators that go
// through several states of an object.
const DefaultRate = 30

// lasting is how long a loop is reported after the last pause.
const lasting = time.Minute

// maxLoops bounds the loops that are remembered. Others are slowed down, too.
const maxLoops = 100

// Loop is an object with which an operator triggers itself too often.
type Loop struct {
	Object  string // kopfexamples.v1.kopf.dev ns/name
	Handler string // ids of the handlers that are called again
	Rate    int    // calls per minute before the first pause

	paused time.Time // the last pause
}

// String describes the loop for people.
func (l Loop) String() string {
	return fmt.Sprintf("the handler %s is called for %s by its own patches, %d times a minute", l.Handler, l.Object, l.Rate)
}

// Limiter limits the loops of one operator. A nil Limiter limits nothing. It is safe for
// concurrent use.
type Limiter struct {
	rate int // calls per minute

	mu    sync.Mutex // guards loops
	loops map[string]Loop
}

// New makes a limiter. The rate is the allowed number of calls per minute with each object,
// and at once. Zero means no limit: New then returns nil.
func New(rate int) *Limiter {
	if rate <= 0 {
		return nil
	}
	return &Limiter{rate: rate}
}

// Chain is a sequence of calls for one object, each of which the patch after the previous
// one has caused. Only the worker of the object uses it.
type Chain struct {
	handler string
	began   time.Time
	calls   int
	tokens  float64 // calls that may begin without a pause, at filled
	filled  time.Time
	waited  bool // the pause of the next call is over
}

// Continue counts a call that an own patch has caused. The chain is the earlier one; nil
// begins a chain.
func (l *Limiter) Continue(c *Chain, handler string, now time.Time) *Chain {
	if l == nil {
		return nil
	}
	if c == nil {
		c = &Chain{began: now, tokens: float64(l.rate), filled: now}
	}
	l.fill(c, now)
	c.handler, c.waited = handler, false
	c.calls++
	c.tokens = max(c.tokens-1, 0)
	return c
}

// fill adds the calls that the time allows.
func (l *Limiter) fill(c *Chain, now time.Time) {
	c.tokens = min(c.tokens+now.Sub(c.filled).Minutes()*float64(l.rate), float64(l.rate))
	c.filled = now
}

// Pause returns how long the next call of a chain must wait; zero: not at all.
func (l *Limiter) Pause(c *Chain, now time.Time) time.Duration {
	if l == nil || c == nil || c.waited {
		return 0
	}
	l.fill(c, now)
	if c.tokens >= 1 {
		return 0
	}
	return max(time.Duration((1-c.tokens)*float64(time.Minute)/float64(l.rate)), time.Nanosecond)
}

// Paused allows the next call after its pause.
func (c *Chain) Paused() { c.waited = true }

// Report remembers that a call of a chain pauses. It returns true with the first pause.
func (l *Limiter) Report(c *Chain, object string, now time.Time) (loop Loop, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	loop, known := l.loops[object]
	if !known || now.Sub(loop.paused) > lasting {
		l.drop(now)
		elapsed := max(now.Sub(c.began), time.Millisecond)
		loop, known = Loop{Object: object, Handler: c.handler, Rate: int(float64(c.calls) * float64(time.Minute) / float64(elapsed))}, false
	}
	loop.paused = now
	if known || len(l.loops) < maxLoops {
		if l.loops == nil {
			l.loops = map[string]Loop{}
		}
		l.loops[object] = loop
	}
	return loop, !known
}

// drop forgets the loops that have ended.
func (l *Limiter) drop(now time.Time) {
	for object, loop := range l.loops {
		if now.Sub(loop.paused) > lasting {
			delete(l.loops, object)
		}
	}
}

// Loops returns the present loops: those with a pause within the last minute. They are sorted
// by their objects.
func (l *Limiter) Loops(now time.Time) []Loop {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(now)
	present := make([]Loop, 0, len(l.loops))
	for _, loop := range l.loops {
		present = append(present, loop)
	}
	slices.SortFunc(present, func(a, b Loop) int { return cmp.Compare(a.Object, b.Object) })
	return present
}

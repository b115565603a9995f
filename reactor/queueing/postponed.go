package queueing

import (
	"context"
	"time"
)

// Then continues the handling of an object after a wait. left is how long the object would have waited longer, had no newer event or the
// exit of the operator ended the wait; zero after a whole wait. It returns the version that a patch has created, as Queues.Process does. It
// is called once, though with a context that is over if the work on the object was cancelled.
type Then func(ctx context.Context, left time.Duration, q *Queue) (version string)

// Postpone lets the object wait when its worker has handled the present event, and then continue: after a while, or when an event of the
// object arrives, which is handled next. Only the worker may call it, once for each event and continuation.
func (q *Queue) Postpone(d time.Duration, why Why, then Then) {
	q.owner.mu.Lock()
	defer q.owner.mu.Unlock()
	q.postponed = &postponed{sleep: sleep{why, time.Now().Add(d)}, of: q, then: then}
}

// postponed is what the worker of an object does later. While the object waits for that, it has its place under the limit of workers, and
// no goroutine: one that waits keeps ten times the memory. The mutex of the queues guards it.
type postponed struct {
	sleep
	of    *Queue
	then  Then
	timer *time.Timer // ends the wait; nil: the object does not wait
	wake  func()      // ends the wait before
	drop  func()      // continues though the work was cancelled
}

// begin begins the wait of an object whose worker has nothing else to do now. It returns false if nothing is postponed, or only for now.
func (p *postponed) begin(ctx context.Context) bool {
	if p == nil {
		return false
	}
	p.drop = func() {
		then, left := p.resume()
		then(ctx, left, p.of)
	}
	if len(p.of.pending) > 0 || p.of.nudged || p.of.owner.closed {
		return false
	}
	p.wake = func() {
		p.timer.Stop()
		p.timer = nil
		p.of.owner.leave(p.of) // and gets its place back at once
		p.of.owner.dispatch(ctx)
	}
	p.timer = time.AfterFunc(time.Until(p.until), func() {
		p.of.owner.mu.Lock()
		defer p.of.owner.mu.Unlock()
		p.end()
	})
	return true
}

// end ends the wait, if the object waits.
func (p *postponed) end() {
	if p != nil && p.timer != nil {
		p.wake()
	}
}

// resume takes what the worker continues now; nil: it handles the next event. Only the worker calls it.
func (p *postponed) resume() (then Then, left time.Duration) {
	if p == nil {
		return nil, 0
	}
	q := p.of
	q.owner.mu.Lock()
	defer q.owner.mu.Unlock()
	q.postponed = nil
	pressed := len(q.pending) > 0 || q.owner.closed
	if q.nudged = q.nudged && pressed; pressed {
		left = max(time.Until(p.until), time.Nanosecond)
	}
	return p.then, left
}

// Continue waits for what the worker of Alone has postponed, and does it. Tests use it.
func Continue(ctx context.Context, q *Queue) (version string) {
	if q.postponed == nil {
		return ""
	}
	select {
	case <-time.After(time.Until(q.postponed.until)):
	case <-ctx.Done():
	}
	then, left := q.postponed.resume()
	return then(ctx, left, q)
}

package queueing

import (
	"context"
	"time"
)

// Why says what the worker of an object waits for while it sleeps.
type Why string

// The reasons of sleeps.
const (
	Retrying  Why = "retry"     // the next attempt of a handler, or the end of a daemon
	Throttled Why = "throttled" // the end of a pause after an unexpected error
	Looping   Why = "loop"      // the end of a pause, because the operator triggers itself
	Catching  Why = "patch"     // the version of the operator's own patch
)

// State is what the queues do for one object.
type State struct {
	Waiting int       // events that wait
	Working bool      // the object has a worker
	Why     Why       // what the worker waits for; empty: it does not sleep
	Until   time.Time // when the sleep ends, unless an event ends it; zero: the worker does not sleep
}

// State returns what the queues do for an object. The cost does not depend on other objects.
func (qs *Queues) State(key string) State {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	q, ok := qs.objects[key]
	if !ok {
		return State{}
	}
	s := q.sleep
	if p := q.postponed; p != nil && p.timer != nil {
		s = p.sleep
	}
	return State{Waiting: len(q.pending), Working: !q.ready, Why: s.why, Until: s.until}
}

// SleepFor is as Sleep, and says what is waited for.
func (q *Queue) SleepFor(ctx context.Context, d time.Duration, why Why) time.Duration {
	if d <= 0 {
		return q.Sleep(ctx, d)
	}
	q.note(sleep{why, time.Now().Add(d)})
	defer q.note(sleep{})
	return q.Sleep(ctx, d)
}

// sleep is what an object waits for, and until when; zero: it does not wait.
type sleep struct {
	why   Why
	until time.Time
}

func (q *Queue) note(s sleep) {
	q.owner.mu.Lock()
	defer q.owner.mu.Unlock()
	q.sleep = s
}

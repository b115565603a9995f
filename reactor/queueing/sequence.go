package queueing

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// maxPlaces is how many begin in their order. If there are more at once, the rest
	// begin whenever they can: then it counts how fast all of them are done.
	maxPlaces = 16

	// placePatience is how long the others wait for one that computes and computes.
	placePatience = 100 * time.Millisecond
)

// sequence lets objects whose events come together begin in their order, each as soon as the one
// before it rests: when it waits for something, has sent a request, or is done.
//
// In the reference, everything runs in one thread until it waits for something. So the
// objects of a listing are handled in the order of the listing there, and logs and
// numbers in memos tell of it.
type sequence struct {
	mu   sync.Mutex // guards line, and all places
	line []*place   // those that do not rest yet
}

// place is that of one object in a sequence. A nil one never waits.
type place struct {
	owner *sequence
	came  chan struct{} // closed when it is the first one; nil: it was from the beginning
	since time.Time     // when it began; zero: not yet
	timer *time.Timer   // that ends it, once another one waits
}

// join takes the last place in the line.
func (ts *sequence) join() *place {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if len(ts.line) >= maxPlaces {
		return nil
	}
	t := &place{owner: ts}
	if len(ts.line) > 0 {
		t.came = make(chan struct{})
	}
	ts.line = append(ts.line, t)
	return t
}

// wait waits until all places before are over.
func (t *place) wait(ctx context.Context) {
	if t == nil {
		return
	}
	if t.came != nil {
		t.owner.hurry()
		select {
		case <-t.came:
		case <-ctx.Done():
		}
	}
	t.owner.mu.Lock()
	defer t.owner.mu.Unlock()
	t.since = time.Now()
}

// hurry bounds the time of the first one, since another one waits for its end.
func (ts *sequence) hurry() {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if len(ts.line) == 0 || ts.line[0].timer != nil {
		return
	}
	first, left := ts.line[0], placePatience
	if !first.since.IsZero() {
		left -= time.Since(first.since)
	}
	first.timer = time.AfterFunc(left, first.over)
}

// over ends the place; later calls do nothing.
func (t *place) over() {
	if t == nil {
		return
	}
	ts := t.owner
	ts.mu.Lock()
	defer ts.mu.Unlock()
	i := slices.Index(ts.line, t)
	if i < 0 {
		return
	}
	if t.timer != nil {
		t.timer.Stop()
	}
	ts.line = slices.Delete(ts.line, i, i+1)
	if i > 0 || len(ts.line) == 0 {
		return
	}
	next := ts.line[0]
	close(next.came)
	if len(ts.line) > 1 {
		next.timer = time.AfterFunc(placePatience, next.over)
	}
}

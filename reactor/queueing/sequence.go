package queueing

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// maxPlaces is how many objects begin in order. Further ones begin without an order,
	// because then the throughput matters more.
	maxPlaces = 16

	// placePatience is how long the others wait for an object that only computes.
	placePatience = 100 * time.Millisecond
)

// sequence lets objects whose events arrive together begin in order. An object begins when
// the previous one rests: when it waits for something, has sent a request, or is done.
//
// In Kopf, a single thread runs everything until it waits. So Kopf handles the objects of
// a listing in its order, which logs and numbers in memos show.
type sequence struct {
	mu   sync.Mutex // guards line and all places
	line []*place   // places of objects that do not rest yet
}

// place is the place of one object in a sequence. A nil place never waits.
type place struct {
	owner *sequence
	came  chan struct{} // closed when the place is the first one; nil: it always was
	since time.Time     // when the object began; zero: not yet
	timer *time.Timer   // ends the place, if another one waits
}

// join takes the last place of the line.
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

// wait waits until all earlier places are over.
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

// hurry limits the time of the first place, because another one waits for it.
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

// over ends the place. Further calls do nothing.
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

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
func (s *sequence) join() *place {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.line) >= maxPlaces {
		return nil
	}
	p := &place{owner: s}
	if len(s.line) > 0 {
		p.came = make(chan struct{})
	}
	s.line = append(s.line, p)
	return p
}

// wait waits until all earlier places are over.
func (p *place) wait(ctx context.Context) {
	if p == nil {
		return
	}
	if p.came != nil {
		p.owner.hurry()
		select {
		case <-p.came:
		case <-ctx.Done():
		}
	}
	p.owner.mu.Lock()
	defer p.owner.mu.Unlock()
	p.since = time.Now()
}

// hurry limits the time of the first place, because another one waits for it.
func (s *sequence) hurry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.line) == 0 || s.line[0].timer != nil {
		return
	}
	first, left := s.line[0], placePatience
	if !first.since.IsZero() {
		left -= time.Since(first.since)
	}
	first.timer = time.AfterFunc(left, first.over)
}

// over ends the place. Further calls do nothing.
func (p *place) over() {
	if p == nil {
		return
	}
	s := p.owner
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.line, p)
	if i < 0 {
		return
	}
	if p.timer != nil {
		p.timer.Stop()
	}
	s.line = slices.Delete(s.line, i, i+1)
	if i > 0 || len(s.line) == 0 {
		return
	}
	next := s.line[0]
	close(next.came)
	if len(s.line) > 1 {
		next.timer = time.AfterFunc(placePatience, next.over)
	}
}

// Package signals has what idle parts of an operator wait for, without a goroutine each.
package signals

import (
	"context"
	"sync"
)

// Signal is something that happens once.
type Signal struct {
	given chan struct{}

	mu      sync.Mutex     // guards the fields below
	last    int            // number of the latest that waits
	waiting map[int]func() // nil: the signal was given
}

// New makes a signal that is not given yet.
func New() *Signal {
	return &Signal{given: make(chan struct{}), waiting: map[int]func(){}}
}

// Give gives the signal. Later calls have no effect.
func (s *Signal) Give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		return
	}
	close(s.given)
	for _, do := range s.waiting {
		do()
	}
	s.waiting = nil
}

// Given returns a channel that is closed when the signal is given.
func (s *Signal) Given() <-chan struct{} { return s.given }

// IsGiven reports whether the signal was given.
func (s *Signal) IsGiven() bool {
	select {
	case <-s.given:
		return true
	default:
		return false
	}
}

// Then calls a function once, in a goroutine of its own, when the signal was given or the context has ended. It returns at once.
func (s *Signal) Then(ctx context.Context, do func()) {
	ctx, end := context.WithCancel(ctx)
	forget := s.When(end)
	context.AfterFunc(ctx, func() {
		forget()
		do()
	})
}

// When calls a function when the signal is given, or at once if it was, unless forget is called before. The function must not block.
func (s *Signal) When(do func()) (forget func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		do()
		return func() {}
	}
	s.last++
	number := s.last
	s.waiting[number] = do
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.waiting, number)
	}
}

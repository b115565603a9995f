// Package completion counts what an operator that runs once has still to do.
package completion

import (
	"sync"

	"github.com/kopf-wasm/kopf/reactor/dimensions"
)

// Completion is what an operator that runs once has still to do: the objects of the
// initial listings that have not come to rest, with no handlers left to be called.
// Nil does not count anything.
type Completion struct {
	mu       sync.Mutex // guards all below
	open     map[string]bool
	unlisted map[dimensions.Key]bool // the streams whose initial listing is not complete
	begun    bool                    // the first streams have been started
	failed   int                     // handlers, for good
	handled  int                     // objects
}

func New(once bool) *Completion {
	if !once {
		return nil
	}
	return &Completion{open: map[string]bool{}, unlisted: map[dimensions.Key]bool{}}
}

// Begin says that the streams are known. Before that, there is nothing to wait for.
func (s *Completion) Begin() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
}

// Expect is called for each stream before it is started.
func (s *Completion) Expect(key dimensions.Key) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unlisted[key] = true
}

// Listed says that the initial listing of a stream is complete, or will never be: all of
// its objects have been added.
func (s *Completion) Listed(key dimensions.Key) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.unlisted, key)
}

// Add is called for each listed object.
func (s *Completion) Add(key string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[key] = true
}

// Done says that nothing is left to do for an object until it changes.
func (s *Completion) Done(key string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[key] {
		delete(s.open, key)
		s.handled++
	}
}

// Fail counts a handler that has failed for good.
func (s *Completion) Fail() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed++
}

// State tells whether there is nothing to wait for, and what came out.
func (s *Completion) State() (settled bool, handled, failed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun && len(s.unlisted) == 0 && len(s.open) == 0, s.handled, s.failed
}

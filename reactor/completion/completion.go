// Package completion counts the remaining work of an operator that runs once.
package completion

import (
	"sync"

	"github.com/kopf-wasm/kopf/reactor/dimensions"
)

// Completion is the remaining work of an operator that runs once: the objects of the
// initial listings for which handlers are still due. A nil Completion counts nothing.
type Completion struct {
	mu       sync.Mutex // guards the fields below
	open     map[string]bool
	unlisted map[dimensions.Key]bool // streams whose initial listing is incomplete
	begun    bool                    // the first streams have been started
	failed   int                     // handlers that have failed for good
	handled  int                     // objects
}

// New makes a Completion without any streams if the operator runs once, and nil otherwise.
func New(once bool) *Completion {
	if !once {
		return nil
	}
	return &Completion{open: map[string]bool{}, unlisted: map[dimensions.Key]bool{}}
}

// update changes the fields under the lock. A nil Completion has none to change.
func (s *Completion) update(change func()) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// Begin marks the streams as known. Before that, State reports no completion.
func (s *Completion) Begin() { s.update(func() { s.begun = true }) }

// Expect is called for each stream before it is started.
func (s *Completion) Expect(key dimensions.Key) { s.update(func() { s.unlisted[key] = true }) }

// Listed marks the initial listing of a stream as complete, or as one that never
// completes. All of its objects have been added before.
func (s *Completion) Listed(key dimensions.Key) { s.update(func() { delete(s.unlisted, key) }) }

// Add is called for each listed object.
func (s *Completion) Add(key string) { s.update(func() { s.open[key] = true }) }

// Done marks an object as handled until it changes.
func (s *Completion) Done(key string) {
	s.update(func() {
		if s.open[key] {
			delete(s.open, key)
			s.handled++
		}
	})
}

// Fail counts a handler that has failed for good, or an object that cannot be handled.
func (s *Completion) Fail() { s.update(func() { s.failed++ }) }

// State reports whether no work remains, and the results so far.
func (s *Completion) State() (settled bool, handled, failed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun && len(s.unlisted) == 0 && len(s.open) == 0, s.handled, s.failed
}

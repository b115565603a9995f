package reactor

import "sync"

// completion is what an operator that runs once has still to do: the objects of the
// initial listings that have not come to rest, with no handlers left to be called.
// Nil does not count anything.
type completion struct {
	mu       sync.Mutex // guards all below
	open     map[string]bool
	unlisted map[dimensionKey]bool // the streams whose initial listing is not complete
	begun    bool                  // the first streams have been started
	failed   int                   // handlers, for good
	handled  int                   // objects
}

func newCompletion(once bool) *completion {
	if !once {
		return nil
	}
	return &completion{open: map[string]bool{}, unlisted: map[dimensionKey]bool{}}
}

// begin says that the streams are known. Before that, there is nothing to wait for.
func (s *completion) begin() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
}

// expect is called for each stream before it is started.
func (s *completion) expect(key dimensionKey) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unlisted[key] = true
}

// listed says that the initial listing of a stream is complete, or will never be: all of
// its objects have been added.
func (s *completion) listed(key dimensionKey) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.unlisted, key)
}

// add is called for each listed object.
func (s *completion) add(key string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[key] = true
}

// done says that nothing is left to do for an object until it changes.
func (s *completion) done(key string) {
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

// fail counts a handler that has failed for good.
func (s *completion) fail() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed++
}

// state tells whether there is nothing to wait for, and what came out.
func (s *completion) state() (settled bool, handled, failed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun && len(s.unlisted) == 0 && len(s.open) == 0, s.handled, s.failed
}

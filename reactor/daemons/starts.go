package daemons

// Starts are the daemons and timers that one cycle has made.
//
// They begin when the cycle waits for something for the first time, one after another,
// in the order of their declarations, each up to where it waits itself: so do they in
// the one thread of the reference. No clock decides that: a daemon computes, within the
// limit of a call, or it waits, or it ends. And if what the cycle waits for is its own patch,
// theirs come after it: or else they outdate that of the finalizer.
//
// A nil one, of a cause that spawns nothing, may be told to begin, too.
type Starts struct {
	waiting []pendingStart
	patched chan struct{} // closed when they may patch
}

// pendingStart is a daemon or a timer that has not begun.
type pendingStart struct {
	*daemon
	begin func()
}

// add takes in a daemon that is to begin. It returns what its patches have to wait for.
func (s *Starts) add(d *daemon, begin func()) (patched <-chan struct{}) {
	if s.patched == nil {
		s.patched = make(chan struct{})
	}
	s.waiting = append(s.waiting, pendingStart{d, begin})
	return s.patched
}

// Start begins all of them. Their patches wait for the release.
func (s *Starts) Start() {
	if s == nil || len(s.waiting) == 0 {
		return
	}
	for _, d := range s.waiting {
		rest := d.stopper.Resting() // before it begins, or the moment could be missed
		d.begin()
		select {
		case <-rest:
		case <-d.done:
		}
	}
	s.waiting = nil
}

// Release lets them patch.
func (s *Starts) Release() {
	if s != nil && s.patched != nil {
		close(s.patched)
		s.patched = nil
	}
}

// Free is for a cycle that waits for something else than its patch.
func (s *Starts) Free() {
	s.Start()
	s.Release()
}

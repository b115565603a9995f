package daemons

// Starts holds the daemons and timers that one cycle has created.
//
// They begin when the cycle waits for the first time. They begin one after another, in the
// order of their declarations; each runs until it waits itself. Kopf, with its single
// thread, does the same. The order depends on no clock: a daemon computes, within the
// limit of a call, or it waits, or it ends.
//
// If the cycle waits for its own patch, the patches of the daemons come later. Otherwise
// they would make the patch of the finalizer outdated.
//
// A nil Starts, of a cause without daemons, is valid.
type Starts struct {
	waiting []pendingStart
	patched chan struct{} // closed when the daemons may patch
}

// pendingStart is a daemon or a timer that has not begun.
type pendingStart struct {
	*daemon
	begin func()
}

// add adds a daemon that will begin. Its patches must wait for the returned channel.
func (s *Starts) add(d *daemon, begin func()) (patched <-chan struct{}) {
	if s.patched == nil {
		s.patched = make(chan struct{})
	}
	s.waiting = append(s.waiting, pendingStart{d, begin})
	return s.patched
}

// Start begins all of them. Their patches wait for Release.
func (s *Starts) Start() {
	if s == nil || len(s.waiting) == 0 {
		return
	}
	for _, d := range s.waiting {
		rest := d.stopper.Resting() // taken before it begins, so that the moment is not missed
		d.begin()
		select {
		case <-rest:
		case <-d.done:
		}
	}
	s.waiting = nil
}

// Release allows their patches.
func (s *Starts) Release() {
	if s != nil && s.patched != nil {
		close(s.patched)
		s.patched = nil
	}
}

// Free starts and releases them, for a cycle that waits for something other than its
// patch.
func (s *Starts) Free() {
	s.Start()
	s.Release()
}

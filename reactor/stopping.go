package reactor

import (
	"slices"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/abi"
)

// anyReason are all reasons to stop.
const anyReason = -1

// stopper tells a daemon to end, and why. Reasons add up; the first one counts as
// the time of stopping.
//
// Kopf: kopf._core.intents.stoppers (v1.45).
type stopper struct {
	mu      sync.Mutex // guards all below
	reasons int
	when    time.Time
	forced  bool          // nothing is waited for any more
	naps    []*nap        // that are not over; mostly one
	outside bool          // waits for the API server, or for others
	rest    chan struct{} // closed when it waits for something; nil: nobody wants to know
}

func newStopper() *stopper { return &stopper{} }

// set adds a reason; it returns false if it was there already.
func (s *stopper) set(reason int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reasons&reason != 0 {
		return false
	}
	if s.reasons == 0 {
		s.when = time.Now()
	}
	s.reasons |= reason
	s.rouse(func(n *nap) bool { return n.reasons&reason != 0 })
	return true
}

// force ends all naps, whatever they are for, those to come included.
func (s *stopper) force() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forced = true
	s.rouse(func(*nap) bool { return true })
}

func (s *stopper) bits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reasons
}

// asked is for the daemon itself. One that looks whether it is to end, and is not, has
// begun: so do those that wait in ways of their own, as plugins.
func (s *stopper) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reasons == 0 {
		s.rested()
	}
	return s.reasons
}

// age is how long ago it was stopped.
func (s *stopper) age() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reasons == 0 {
		return 0
	}
	return time.Since(s.when)
}

// isSet tells whether there is any reason to end.
func (s *stopper) isSet() bool { return s.bits() != 0 }

// isCancelled tells whether it is more than a wish that the daemon ends.
func (s *stopper) isCancelled() bool { return s.bits()&abi.StopDaemonCancelled != 0 }

// nap is a wait without a goroutine: it takes a tenth of the memory of one with.
type nap struct {
	reasons int // that end it
	timer   *time.Timer
	wake    func()
}

// nap calls a function on a goroutine of its own when the time is over (nil: never),
// or there is one of the reasons. It returns nil, and the function is not called, if
// there is nothing to wait for.
func (s *stopper) nap(limit *time.Duration, reasons int, wake func()) *nap {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forced || s.reasons&reasons != 0 || limit != nil && *limit <= 0 {
		return nil
	}
	n := &nap{reasons: reasons, wake: wake}
	if limit != nil {
		n.timer = time.AfterFunc(*limit, func() {
			if s.forget(n) {
				n.wake()
			}
		})
	}
	s.naps = append(s.naps, n)
	s.rested()
	return n
}

// away does something that waits for others.
func (s *stopper) away(work func()) {
	s.mu.Lock()
	s.outside = true
	s.rested()
	s.mu.Unlock()
	work()
	s.mu.Lock()
	s.outside = false
	s.mu.Unlock()
}

// rested tells those who want to know it. The lock is held.
func (s *stopper) rested() {
	if s.rest != nil {
		close(s.rest)
		s.rest = nil
	}
}

// resting is closed as soon as whoever is to be stopped waits for something: it does
// not react to anything then, but to what it waits for.
func (s *stopper) resting() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rest == nil {
		s.rest = make(chan struct{})
	}
	rest := s.rest
	if s.outside || len(s.naps) > 0 {
		s.rested()
	}
	return rest
}

// forget ends a nap without waking anybody; it returns false if it is over.
func (s *stopper) forget(n *nap) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.naps, n)
	if i < 0 {
		return false
	}
	s.naps = slices.Delete(s.naps, i, i+1)
	return true
}

// rouse ends some of the naps. The lock is held.
func (s *stopper) rouse(which func(*nap) bool) {
	s.naps = slices.DeleteFunc(s.naps, func(n *nap) bool {
		if !which(n) {
			return false
		}
		if n.timer != nil {
			n.timer.Stop()
		}
		go n.wake() // As long as it does what the nap was for: see those who nap.
		return true
	})
}

// sleep waits for a time, or until stopped.
func (s *stopper) sleep(d time.Duration) {
	over := make(chan struct{})
	if s.nap(&d, anyReason, func() { close(over) }) != nil {
		<-over
	}
}

// Package stoppers tells daemons, timers and background handlers to end, and why. They wait
// for that without a goroutine.
//
// Kopf: kopf._core.intents.stoppers (v1.45).
package stoppers

import (
	"slices"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/abi"
)

// AnyReason are all reasons to stop.
const AnyReason = -1

// Stopper tells a daemon to end, and why. Reasons add up; the first one counts as
// the time of stopping.
//
// Kopf: kopf._core.intents.stoppers (v1.45).
type Stopper struct {
	mu      sync.Mutex // guards all below
	reasons int
	when    time.Time
	forced  bool          // nothing is waited for any more
	waiters []*Waiter     // that are not over; mostly one
	outside bool          // waits for the API server, or for others
	rest    chan struct{} // closed when it waits for something; nil: nobody wants to know
}

func New() *Stopper { return &Stopper{} }

// Set adds a reason; it returns false if it was there already.
func (s *Stopper) Set(reason int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reasons&reason != 0 {
		return false
	}
	if s.reasons == 0 {
		s.when = time.Now()
	}
	s.reasons |= reason
	s.rested() // whether it has begun does not matter any more
	s.rouse(func(n *Waiter) bool { return n.reasons&reason != 0 })
	return true
}

// Force ends all waits, for whatever reason, later ones included.
func (s *Stopper) Force() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forced = true
	s.rouse(func(*Waiter) bool { return true })
}

func (s *Stopper) Bits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reasons
}

// Waits is for the daemon itself, when it waits outside of await: for a worker, for an
// instance, or inside of a host function. Once it is told to stop, such a wait is on the
// way to its end, and no rest.
func (s *Stopper) Waits() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reasons == 0 {
		s.rested()
	}
}

// Age is how long ago it was stopped.
func (s *Stopper) Age() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reasons == 0 {
		return 0
	}
	return time.Since(s.when)
}

// IsSet tells whether there is any reason to end.
func (s *Stopper) IsSet() bool { return s.Bits() != 0 }

// IsCancelled tells whether it is more than a wish that the daemon ends.
func (s *Stopper) IsCancelled() bool { return s.Bits()&abi.StopDaemonCancelled != 0 }

// Waiter is a wait that has no goroutine: it takes a tenth of the memory of one that has.
type Waiter struct {
	reasons int // that end it
	timer   *time.Timer
	wake    func()
}

// Await calls a function on a goroutine of its own when the time is over (nil: never),
// or there is one of the reasons. It returns nil, and the function is not called, if
// there is nothing to wait for.
func (s *Stopper) Await(limit *time.Duration, reasons int, wake func()) *Waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forced || s.reasons&reasons != 0 || limit != nil && *limit <= 0 {
		return nil
	}
	n := &Waiter{reasons: reasons, wake: wake}
	if limit != nil {
		n.timer = time.AfterFunc(*limit, func() {
			if s.Forget(n) {
				n.wake()
			}
		})
	}
	s.waiters = append(s.waiters, n)
	s.rested()
	return n
}

// Away does something that waits for others.
func (s *Stopper) Away(work func()) {
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
func (s *Stopper) rested() {
	if s.rest != nil {
		close(s.rest)
		s.rest = nil
	}
}

// Resting is closed as soon as whoever is to be stopped waits for something: it does
// not react to anything then, but to what it waits for.
func (s *Stopper) Resting() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rest == nil {
		s.rest = make(chan struct{})
	}
	rest := s.rest
	if s.outside || len(s.waiters) > 0 {
		s.rested()
	}
	return rest
}

// Forget drops a waiter, whose function is not called then; it returns false if the wait is over.
func (s *Stopper) Forget(n *Waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.waiters, n)
	if i < 0 {
		return false
	}
	s.waiters = slices.Delete(s.waiters, i, i+1)
	return true
}

// rouse ends some of the waits. The lock is held.
func (s *Stopper) rouse(which func(*Waiter) bool) {
	s.waiters = slices.DeleteFunc(s.waiters, func(n *Waiter) bool {
		if !which(n) {
			return false
		}
		if n.timer != nil {
			n.timer.Stop()
		}
		go n.wake() // It lasts as long as the callback of await.
		return true
	})
}

// Sleep waits for a time, or until stopped.
func (s *Stopper) Sleep(d time.Duration) {
	over := make(chan struct{})
	if s.Await(&d, AnyReason, func() { close(over) }) != nil {
		<-over
	}
}

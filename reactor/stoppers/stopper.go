// Package stoppers asks daemons, timers and background handlers to end, with reasons.
// Waits for that need no goroutine.
//
// Kopf: kopf._core.intents.stoppers (v1.45).
package stoppers

import (
	"slices"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/abi"
)

// AnyReason stands for all reasons to stop.
const AnyReason = -1

// Stopper asks a daemon to end. Reasons accumulate; the time of the first one is the time
// of stopping.
//
// Kopf: kopf._core.intents.stoppers (v1.45).
type Stopper struct {
	mu      sync.Mutex // guards the fields below
	reasons int
	when    time.Time
	forced  bool          // all waits end at once
	waiters []*Waiter     // waits that are not over; usually one
	outside bool          // whether the daemon waits for the API server, or for other tasks
	rest    chan struct{} // closed when the daemon waits for something; nil: Resting was not called
}

// New makes a Stopper without a reason.
func New() *Stopper { return &Stopper{} }

// Set adds a reason. It returns false if the stopper already has it.
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
	s.rested() // whether the daemon has begun no longer matters
	s.rouse(func(n *Waiter) bool { return n.reasons&reason != 0 })
	return true
}

// Force ends all current and later waits.
func (s *Stopper) Force() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forced = true
	s.rouse(func(*Waiter) bool { return true })
}

// Bits returns the reasons as a bit set.
func (s *Stopper) Bits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reasons
}

// Waits marks the daemon as waiting outside of Await: for a worker, for an instance, or
// inside a host function. After a request to stop, such a wait leads to the end, so it
// does not count as rest.
func (s *Stopper) Waits() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reasons == 0 {
		s.rested()
	}
}

// Age returns the time since the first reason.
func (s *Stopper) Age() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reasons == 0 {
		return 0
	}
	return time.Since(s.when)
}

// IsSet reports whether there is any reason to end.
func (s *Stopper) IsSet() bool { return s.Bits() != 0 }

// IsCancelled reports whether the daemon must end, rather than being asked to.
func (s *Stopper) IsCancelled() bool { return s.Bits()&abi.StopDaemonCancelled != 0 }

// Waiter is a wait without a goroutine. It takes a tenth of the memory of a goroutine.
type Waiter struct {
	reasons int // reasons that end the wait
	timer   *time.Timer
	wake    func()
}

// Await calls wake on a new goroutine when the time is over (nil: never), or when one of
// the reasons is set. If that is already the case, it returns nil and does not call wake.
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

// Away runs work that waits for others.
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

// rested closes the channel of Resting. The caller holds the lock.
func (s *Stopper) rested() {
	if s.rest != nil {
		close(s.rest)
		s.rest = nil
	}
}

// Resting returns a channel that is closed as soon as the daemon waits for something. The
// daemon then reacts only to what it waits for.
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

// Forget drops a waiter, whose function is then not called. It returns false if the wait
// is over.
func (s *Stopper) Forget(n *Waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.waiters, n)
	if i < 0 {
		return false
	}
	s.waiters = slices.Delete(s.waiters, i, i+1)
	if n.timer != nil {
		n.timer.Stop() // it would keep what waits in memory
	}
	return true
}

// Rouse ends a wait, as if its time were over.
func (s *Stopper) Rouse(n *Waiter) {
	if s.Forget(n) {
		go n.wake() // It ends with the callback of Await.
	}
}

// rouse ends some of the waits. The caller holds the lock.
func (s *Stopper) rouse(which func(*Waiter) bool) {
	s.waiters = slices.DeleteFunc(s.waiters, func(n *Waiter) bool {
		if !which(n) {
			return false
		}
		if n.timer != nil {
			n.timer.Stop()
		}
		go n.wake() // It ends with the callback of Await.
		return true
	})
}

// Sleep waits for d, or until a reason is set.
func (s *Stopper) Sleep(d time.Duration) {
	over := make(chan struct{})
	if s.Await(&d, AnyReason, func() { close(over) }) != nil {
		<-over
	}
}

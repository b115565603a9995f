package reactor

import (
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/abi"
)

// stopper tells a daemon to end, and why. Reasons add up; the first one counts as
// the time of stopping.
//
// Kopf: kopf._core.intents.stoppers (v1.45).
type stopper struct {
	stopped   chan struct{} // closed by the first reason
	cancelled chan struct{} // closed by the cancellation

	mu      sync.Mutex // guards all below
	reasons int
	when    time.Time
}

func newStopper() *stopper {
	return &stopper{stopped: make(chan struct{}), cancelled: make(chan struct{})}
}

// set adds a reason; it returns false if it was there already.
func (s *stopper) set(reason int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reasons&reason != 0 {
		return false
	}
	if s.reasons == 0 {
		s.when = time.Now()
		close(s.stopped)
	}
	s.reasons |= reason
	if reason == abi.StopDaemonCancelled {
		close(s.cancelled)
	}
	return true
}

func (s *stopper) bits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
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

// sleep waits for a time, or until stopped.
func (s *stopper) sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.stopped:
	}
}

// isSet tells whether there is any reason to end.
func (s *stopper) isSet() bool {
	select {
	case <-s.stopped:
		return true
	default:
		return false
	}
}

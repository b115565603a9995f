package watching

import (
	"sync"
	"time"
)

// Phase is what a stream does now.
type Phase string

// Phases of a stream.
const (
	Waiting  Phase = "waiting" // for its start, or for the end of a pause
	Listing  Phase = "listing"
	Watching Phase = "watching"
	Resting  Phase = "resting" // between two connections
)

// flicker is how long a stream may be without a connection, as it is between any two
// watches, before it counts as not delivering.
const flicker = 5 * time.Second

// slack is what a stream may be late, before it counts as stalled.
const slack = 30 * time.Second

// Health is what a stream tells about itself.
type Health struct {
	Phase    Phase
	Since    time.Time // of the phase
	Contact  time.Time // when the server has last sent anything; zero: never
	Event    time.Time // the last event, bookmarks and listed objects included; zero: none
	Events   uint64    // all of them so far
	Failures uint64    // connections that have failed so far
	Error    string    // the last failure, unless there was contact since
	Synced   bool      // the objects have been listed, and the watch goes on from there
	Deadline time.Time // when the stream must have done something; zero: never
	Broken   time.Time // since when there is no connection; zero: there is one, or none is needed
}

// Stalled tells that the stream has not done what it should have: its goroutine
// hangs, or is gone. Nothing but a new process helps.
func (h Health) Stalled(now time.Time) bool {
	return !h.Deadline.IsZero() && now.After(h.Deadline.Add(slack))
}

// Delivers tells whether changes of objects arrive.
func (h Health) Delivers(now time.Time) bool {
	return h.Synced && !h.Stalled(now) && (h.Broken.IsZero() || now.Sub(h.Broken) < flicker)
}

// health is the Health of a stream, which others look at.
type health struct {
	mu  sync.Mutex // guards now
	now Health
}

// Health is the present state of the stream.
func (s *Stream) Health() Health {
	s.health.mu.Lock()
	defer s.health.mu.Unlock()
	if s.health.now.Phase == "" {
		return Health{Phase: Waiting}
	}
	return s.health.now
}

func (h *health) change(how func(now *Health)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	how(&h.now)
}

// enter begins a phase that lasts so long at most, if nothing comes; 0: endless.
func (h *health) enter(phase Phase, limit time.Duration) {
	h.change(func(now *Health) {
		if now.Phase != phase {
			now.Phase, now.Since = phase, time.Now()
		}
		now.Deadline = deadline(limit)
	})
}

// leave ends the work of the stream, for ever or for a while.
func (h *health) leave() {
	h.change(func(now *Health) {
		now.Phase, now.Since, now.Synced, now.Deadline = Waiting, time.Now(), false, time.Time{}
	})
}

func (h *health) connected() {
	h.change(func(now *Health) { now.Broken, now.Error = time.Time{}, "" })
}

func (h *health) disconnected() {
	h.change(func(now *Health) { now.Broken = time.Now() })
}

func deadline(limit time.Duration) time.Time {
	if limit <= 0 {
		return time.Time{}
	}
	return time.Now().Add(limit)
}

// idle says that nothing is expected of the server for now.
func (h *health) idle() {
	h.change(func(now *Health) { now.Deadline = time.Time{} })
}

// active says that something has come from the server.
func (h *health) active(limit time.Duration) {
	h.change(func(now *Health) { now.Contact, now.Deadline = time.Now(), deadline(limit) })
}

func (h *health) event() {
	h.change(func(now *Health) { now.Event, now.Events = time.Now(), now.Events+1 })
}

func (h *health) failed(err error) {
	h.change(func(now *Health) { now.Failures, now.Error, now.Synced = now.Failures+1, err.Error(), false })
}

func (h *health) listed() {
	h.change(func(now *Health) { now.Synced = true })
}

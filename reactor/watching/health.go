package watching

import (
	"net/http"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/reactor/clients"
)

// Phase is what a stream currently does.
type Phase string

// These are the phases of a stream.
const (
	Waiting  Phase = "waiting" // for its start, or for the end of a pause
	Listing  Phase = "listing"
	Watching Phase = "watching"
	Resting  Phase = "resting" // between two connections
)

// flicker is how long a stream may have no connection before it counts as not delivering.
// Between two watches, each stream briefly has none.
const flicker = 5 * time.Second

// slack is how late a stream may be before it counts as stalled.
const slack = 30 * time.Second

// Health describes the state of a stream.
type Health struct {
	Phase     Phase
	Since     time.Time // start of the phase
	Contact   time.Time // when the server last sent anything; zero: never
	Event     time.Time // time of the last event, bookmark or listed object; zero: none
	Events    uint64    // number of events so far
	Failures  uint64    // number of failed connections so far
	Error     string    // the last failure, or failed attempt, unless the server has sent anything since
	Forbidden bool      // the API server has refused the objects then
	Missing   bool      // the API server did not know the resource then
	Synced    bool      // the objects have been listed, and the watch continues from there
	Deadline  time.Time // when the stream must have acted; zero: never
	Broken    time.Time // when the connection was lost; zero: connected, or not needed
}

// Stalled reports whether the stream has missed its deadline: its goroutine hangs, or has
// ended. Only a restart of the process helps.
func (h Health) Stalled(now time.Time) bool {
	return !h.Deadline.IsZero() && now.After(h.Deadline.Add(slack))
}

// Delivers reports whether changes of objects arrive.
func (h Health) Delivers(now time.Time) bool {
	return h.Synced && !h.Forbidden && !h.Missing && !h.Stalled(now) && (h.Broken.IsZero() || now.Sub(h.Broken) < flicker)
}

// health holds the Health of a stream for other goroutines.
type health struct {
	mu  sync.Mutex // guards now
	now Health
}

// Health returns the current state of the stream.
func (s *Stream) Health() Health {
	s.health.mu.Lock()
	defer s.health.mu.Unlock()
	if s.health.now.Phase == "" {
		return Health{Phase: Waiting}
	}
	return s.health.now
}

// events returns the number of events so far.
func (h *health) events() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now.Events
}

func (h *health) change(how func(now *Health)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	how(&h.now)
}

// enter begins a phase that lasts at most limit if nothing arrives; 0: no limit.
func (h *health) enter(phase Phase, limit time.Duration) {
	h.change(func(now *Health) {
		if now.Phase != phase {
			now.Phase, now.Since = phase, time.Now()
		}
		now.Deadline = deadline(limit)
	})
}

// leave marks the end of the stream's work, for ever or for a while.
func (h *health) leave() {
	h.change(func(now *Health) {
		now.Phase, now.Since, now.Synced, now.Deadline = Waiting, time.Now(), false, time.Time{}
	})
}

func (h *health) connected() {
	h.change(func(now *Health) { now.Broken, now.Error, now.Forbidden, now.Missing = time.Time{}, "", false, false })
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

// idle records that nothing is expected of the server for now.
func (h *health) idle() {
	h.change(func(now *Health) { now.Deadline = time.Time{} })
}

// active records that the server has sent something.
func (h *health) active(limit time.Duration) {
	h.change(func(now *Health) { now.Contact, now.Deadline = time.Now(), deadline(limit) })
}

// reached records that the server has sent something before.
func (h *health) reached(contact time.Time, left time.Duration) {
	h.change(func(now *Health) { now.Contact, now.Deadline = contact, deadline(left) })
}

func (h *health) event() {
	h.change(func(now *Health) { now.Event, now.Events = time.Now(), now.Events+1 })
}

// because notes why there is no connection.
func (h *Health) because(err error) {
	code, _ := clients.Code(err)
	h.Error, h.Forbidden, h.Missing = err.Error(), code == http.StatusForbidden, code == http.StatusNotFound
}

func (h *health) failed(err error) {
	h.change(func(now *Health) {
		now.Failures, now.Synced = now.Failures+1, false
		now.because(err)
	})
}

// retried records why the stream is not open yet: the client repeats its request for a minute.
func (h *health) retried(err error) {
	h.change(func(now *Health) {
		now.because(err)
		if now.Broken.IsZero() {
			now.Broken = time.Now()
		}
	})
}

func (h *health) listed() {
	h.change(func(now *Health) { now.Synced, now.Forbidden = true, false })
}

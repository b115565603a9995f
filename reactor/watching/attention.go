package watching

import (
	"context"
	"hash/maphash"
	"slices"

	"github.com/kopf-wasm/kopf/reactor/interests"
)

// attention is which objects a stream passes. The stream's mutex guards it; only the
// goroutine of the stream changes begun.
type attention struct {
	wanted *interests.Interest // of the present handlers
	begun  *interests.Interest // of the last listing and its watch
	listed *interests.Interest // of the last complete listing
	before bool                // whether there was a complete listing

	interrupt context.CancelFunc // ends the current watch; nil: there was none
	settled   chan struct{}      // closed after the next complete listing; nil: no goroutine waits for it

	// early are hashes of the objects that the first listing has left out, if the interest is
	// Resuming; sorted after that listing.
	early    []uint64
	complete bool // whether early is complete
}

// SetInterest sets which objects the stream passes from now on, in addition to those that it
// has passed before, until they are deleted. If the stream runs already, it lists the objects.
// Objects that the earlier interest did not include are then passed by Again only, which must
// follow.
//
// A stream with an interest must keep Identities.
func (s *Stream) SetInterest(i *interests.Interest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := &s.attention
	if a.wanted.Equal(i) {
		return
	}
	a.wanted = i
	if a.interrupt != nil {
		a.interrupt()
	}
}

// attend prepares for the first listing of a run.
func (s *Stream) attend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attention.early, s.attention.complete = nil, false
}

// adopt makes the wanted interest that of the next listing. It reports whether the listing
// completes earlier ones with another interest.
func (s *Stream) adopt() (widened bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := &s.attention
	a.begun = a.wanted
	return a.before && a.listed != a.begun
}

// settle marks all existing objects as passed on. The caller holds the mutex.
func (s *Stream) settle() {
	a := &s.attention
	a.listed, a.before = a.begun, true
	if !a.complete {
		slices.Sort(a.early)
		a.early, a.complete = slices.Clip(a.early), true
	}
	s.health.listed()
	if a.settled != nil {
		close(a.settled)
		a.settled = nil
	}
}

// unlessSettled returns nil if all existing objects were passed on that concern the present handlers, and otherwise a channel
// that is closed after the next complete listing.
func (s *Stream) unlessSettled() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := &s.attention
	if a.listed == a.wanted && s.Health().Synced {
		return nil
	}
	if a.settled == nil {
		a.settled = make(chan struct{})
	}
	return a.settled
}

// isOutdated reports whether the objects must be listed with another interest.
func (s *Stream) isOutdated() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.attention.begun != s.attention.wanted
}

// watches sets what ends the watch that now begins. If the interest has changed by now, it ends
// at once.
func (s *Stream) watches(cancel context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attention.interrupt = cancel; s.attention.begun != s.attention.wanted {
		cancel()
	}
}

// concerns reports whether the stream passes an event: the interest includes the object, or
// the stream has passed it before. It marks the objects that are older than the stream. The
// caller holds the mutex.
func (s *Stream) concerns(event *Event) bool {
	a, key := &s.attention, event.Meta.Key()
	if a.begun == nil || s.known.includes(key) {
		return true
	}
	concerns := a.begun.Concerns(interests.MarksOf(event.Object))
	if !a.begun.Resuming {
		return concerns
	}
	switch hash := maphash.String(seed, key); {
	case a.complete:
		_, event.Early = slices.BinarySearch(a.early, hash)
	case !concerns:
		a.early = append(a.early, hash)
	}
	return concerns
}

// showsAgain reports whether Again passes a listed object, instead of this listing: nothing
// but the interest has changed. The caller holds the mutex.
func (s *Stream) showsAgain(event Event) bool {
	a := &s.attention
	if !a.before || a.listed == a.begun {
		return false
	}
	return s.known.has(event.Meta) || !s.known.includes(event.Meta.Key()) && !a.listed.Concerns(interests.MarksOf(event.Object))
}

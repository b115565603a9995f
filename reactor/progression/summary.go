package progression

import (
	"slices"
	"time"
)

// Counts are numbers of handlers by their progress.
type Counts struct {
	Success int // succeeded
	Failure int // failed for good
	Running int // unfinished: running, delayed, or not called yet
}

// Extra counts unfinished handlers of another purpose.
type Extra struct {
	Purpose string
	Counts  Counts
}

// Done reports whether all active handlers are finished. It is true if there are none.
func (s State) Done() bool {
	for _, handler := range s.states {
		if handler.Active && !handler.Finished() {
			return false
		}
	}
	return true
}

// Counts counts the handlers of the current purpose, and those without a purpose.
func (s State) Counts() Counts {
	return s.count(func(h HandlerState) bool {
		return s.purpose == "" || h.Purpose == "" || h.Purpose == s.purpose
	})
}

// Extras lists the purposes other than the current one, in the order of the handlers. It
// is not empty when one reason has taken over from another before all handlers were done.
func (s State) Extras() []Extra {
	var extras []Extra
	seen := map[string]bool{"": true, s.purpose: true}
	for _, handler := range s.states {
		purpose := handler.Purpose
		if seen[purpose] {
			continue
		}
		seen[purpose] = true
		counts := s.count(func(h HandlerState) bool { return h.Purpose == purpose })
		extras = append(extras, Extra{Purpose: purpose, Counts: counts})
	}
	return extras
}

func (s State) count(which func(HandlerState) bool) Counts {
	var counts Counts
	for _, handler := range s.states {
		if !which(handler) {
			continue
		}
		if handler.Success {
			counts.Success++
		}
		if handler.Failure {
			counts.Failure++
		}
		if !handler.Finished() {
			counts.Running++
		}
	}
	return counts
}

// Awakened returns the handlers that are due now, in the given order.
func (s State) Awakened(ids []string, now time.Time) []string {
	var awakened []string
	for _, id := range ids {
		if at := s.find(id); at >= 0 && s.states[at].Awakened(now) {
			awakened = append(awakened, id)
		}
	}
	return awakened
}

// Delays returns the delays of the unfinished active handlers, in the order of the
// handlers; zero for those that are due now.
func (s State) Delays(now time.Time) []time.Duration {
	var delays []time.Duration
	for _, handler := range s.states {
		if handler.Active && !handler.Finished() {
			delays = append(delays, handler.delay(now))
		}
	}
	return delays
}

// Delay returns the shortest delay; nil if no handler is unfinished.
func (s State) Delay(now time.Time) *time.Duration {
	delays := s.Delays(now)
	if len(delays) == 0 {
		return nil
	}
	shortest := slices.Min(delays)
	return &shortest
}

func (h HandlerState) delay(now time.Time) time.Duration {
	if h.Delayed.IsZero() {
		return 0
	}
	return max(0, h.Delayed.Sub(now))
}

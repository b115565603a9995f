package leadership

import (
	"maps"
	"slices"
	"time"
)

// Sights are the states of Leases of other processes, as this process saw them. A Lease belongs to one process for ever, so
// one that has ended never begins again.
type Sights struct {
	terms Terms
	first time.Time // when the first look had ended; zero: there was none
	last  time.Time // when the last look began
	seen  map[string]*view
}

// view is what is known of one Lease.
type view struct {
	sight
	renewed bool // it was seen in two versions, so that its holder lived when this process already looked
}

// NewSights makes Sights that have seen nothing.
func NewSights(t Terms) *Sights { return &Sights{terms: t, seen: map[string]*view{}} }

// Look takes the states of all Leases by their names. They were read in one request, which began at a time and has ended.
func (s *Sights) Look(begun time.Time, all map[string]Lease) {
	now := time.Now()
	if s.first.IsZero() {
		s.first = now
	}
	s.last = begun
	for name, lease := range all {
		before := s.seen[name]
		if before == nil {
			s.seen[name] = &view{sight: sight{lease, now}}
		} else if before.lease.Version != lease.Version {
			s.seen[name] = &view{sight{lease, now}, before.renewed || before.lease.Version != ""}
		}
	}
	for name, v := range s.seen {
		if _, exists := all[name]; exists {
			continue
		}
		if v.lease.Version != "" { // deleted; its holder may live, and makes it again
			*v = view{sight{Lease{Seconds: v.lease.Seconds}, now}, v.renewed}
		}
	}
}

// Looked returns how long this process has looked.
func (s *Sights) Looked() time.Duration { return s.last.Sub(s.first) }

// Ended reports whether the holder of a Lease has certainly ended, or has given the Lease up. A Lease that this process has never
// seen counts from the first question. What matters is the begin of the last look, not the present: this process may have stood
// still since, while the Lease was renewed.
func (s *Sights) Ended(name string) bool {
	v := s.seen[name]
	if v == nil {
		v = &view{sight: sight{at: time.Now()}}
		s.seen[name] = v
	}
	claim := v.lease.claim(s.terms)
	return claim == 0 || s.last.Sub(v.at) >= claim // 0: it was given up
}

// Living returns the names of the Leases that were renewed while this process looked, and have not ended.
func (s *Sights) Living() []string {
	var names []string
	for name, v := range s.seen {
		if v.renewed && !s.Ended(name) {
			names = append(names, name)
		}
	}
	return names
}

// Lease returns the last state of a Lease.
func (s *Sights) Lease(name string) Lease {
	if v := s.seen[name]; v != nil {
		return v.lease
	}
	return Lease{}
}

// Names returns the names of all Leases that were ever seen.
func (s *Sights) Names() []string {
	return slices.Collect(maps.Keys(s.seen))
}

// Forget forgets a Lease.
func (s *Sights) Forget(name string) { delete(s.seen, name) }

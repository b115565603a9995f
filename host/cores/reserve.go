package cores

import "time"

// reserve is a core that shares which compute much leave free for those which use little, while
// there is one of these. On this core the runtime also looks for answers of the network, and runs
// the rest of the process: while machine code of guests has all processors, it looks only each ten
// milliseconds, and an event needs several answers.
//
// A share that no other one wants cores next to has all of them. Where there is only one core,
// nothing can be kept.
//
// See RATIONALE.md, "How do operators share the processors?".
type reserve struct {
	modest *Share    // the last share that used little when it asked for a core; nil: there was none
	until  time.Time // how long a core is kept for shares like that
}

// reserved is how long a core is kept after a modest share has asked for one.
const reserved = 100 * time.Millisecond

// notice keeps a core if a share that uses little asks for one.
func (c *Scheduler) notice(s *Share, b bounds) {
	if c.size > 1 && b.isModest(s) {
		c.reserve = reserve{modest: s, until: c.since.Add(reserved)}
	}
}

// bounds says which shares may have another core at this moment.
type bounds struct {
	modest *Share  // the share that a core is kept for; nil: none is kept
	part   float64 // cores for each unit of weight, if all who want cores had their part
	open   bool    // the others leave a core free even with one more
}

// bounds returns the bounds. The caller has just called count.
func (c *Scheduler) bounds() (b bounds) {
	if c.since.Before(c.until) {
		b.modest = c.modest
	}
	weights := 0
	for _, s := range c.active {
		if weights += s.weight; s == b.modest {
			weights -= s.weight // counted below
		}
	}
	if b.modest != nil {
		weights += b.modest.weight // it wants no core now, but will come back
	}
	b.part = float64(c.size) / float64(max(weights, 1))
	if b.modest != nil && !b.isModest(b.modest) {
		b.modest = nil // it computes much meanwhile
	}
	running := 0
	for _, s := range c.active {
		if !b.isModest(s) {
			running += s.running
		}
	}
	b.open = running < c.size-1
	return b
}

// isModest reports whether a share uses less than half of its part.
func (b bounds) isModest(s *Share) bool { return s.cores < b.part*float64(s.weight)/2 }

// admit reports whether a share may have another core.
func (b bounds) admit(s *Share) bool {
	return b.open || b.modest == nil || b.modest == s || s.urgent > 0 || b.isModest(s)
}

// average is the number of cores that a share has had lately, on average.
type average struct {
	cores float64
	at    time.Time // up to which it is counted
}

// averageMemory is the time after which a load that has ended counts half.
const averageMemory = 100 * time.Millisecond

// follow counts the time since the last call, in which the share had some cores.
func (a *average) follow(now time.Time, running int) {
	elapsed := float64(now.Sub(a.at))
	a.cores += (float64(running) - a.cores) * elapsed / (elapsed + float64(averageMemory))
	a.at = now
}

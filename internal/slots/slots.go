// Package slots bounds what is done at the same time, on behalf of owners who do not trust each
// other: one owner never has more than a part of all slots, and owners take turns, so that none
// waits for the queue of another one.
package slots

import (
	"context"
	"slices"
	"sync"
)

// Pool is a number of slots. It is safe for concurrent use.
//
// # Guarantees
//
//   - An owner has at most half of the slots, and at least one.
//   - A caller that waits has no slots.
//   - A free slot goes to the owner that has the fewest slots, among these to the one whose last
//     turn was longest ago, and within an owner to the caller that has waited longest. So an
//     owner without slots waits for one turn of each other owner at most, however many callers
//     these have.
//   - A caller whose turn it is, and who needs more slots than are free, is not overtaken.
type Pool struct {
	most int // slots of one owner

	mu      sync.Mutex // guards the fields below
	free    int
	used    map[string]int    // by owner
	last    map[string]uint64 // of owners that have slots or wait: the number of their last turn
	newest  uint64            // the newest one
	waiting []*caller         // in the order in which they came
}

// caller waits for slots.
type caller struct {
	owner   string
	slots   int
	granted chan struct{} // closed when it has them
}

// New makes a pool of a number of slots, at least one.
func New(size int) *Pool {
	size = max(size, 1)
	return &Pool{most: max(size/2, 1), free: size, used: map[string]int{}, last: map[string]uint64{}}
}

// Take waits for a number of slots, and takes all of them at once. If the owner may not have as
// many, it takes as many as the owner may have. It returns their number, for Give.
//
// Errors: the cause of the end of the context.
func (p *Pool) Take(ctx context.Context, owner string, slots int) (taken int, err error) {
	c := &caller{owner: owner, slots: min(max(slots, 0), p.most), granted: make(chan struct{})}
	p.mu.Lock()
	p.waiting = append(p.waiting, c)
	p.grant()
	p.mu.Unlock()
	select {
	case <-c.granted:
		return c.slots, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.waiting, c); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
		p.forget(c.owner)
		p.grant()
	} else {
		p.give(c.owner, c.slots) // they were granted meanwhile
	}
	return 0, context.Cause(ctx)
}

// Give gives slots back.
func (p *Pool) Give(owner string, slots int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.give(owner, slots)
}

// give gives slots back. The caller holds the lock.
func (p *Pool) give(owner string, slots int) {
	p.free += slots
	if p.used[owner] -= slots; p.used[owner] == 0 {
		delete(p.used, owner)
	}
	p.forget(owner)
	p.grant()
}

// forget forgets an owner that has no slots and does not wait. The caller holds the lock.
func (p *Pool) forget(owner string) {
	if p.used[owner] == 0 && !slices.ContainsFunc(p.waiting, func(c *caller) bool { return c.owner == owner }) {
		delete(p.last, owner)
	}
}

// grant gives free slots to those who wait. The caller holds the lock.
func (p *Pool) grant() {
	for {
		i := p.next()
		if i < 0 || p.waiting[i].slots > p.free {
			return
		}
		c := p.waiting[i]
		p.waiting = slices.Delete(p.waiting, i, i+1)
		p.free -= c.slots
		if c.slots > 0 {
			p.used[c.owner] += c.slots
		}
		p.newest++
		p.last[c.owner] = p.newest
		p.forget(c.owner)
		close(c.granted)
	}
}

// next returns the index of the caller whose turn it is; -1 if the first caller of each owner needs
// more slots than its owner may have now. The caller holds the lock.
func (p *Pool) next() int {
	next := -1
	var full map[string]bool // owners whose first caller waits until they give slots back
	for i, c := range p.waiting {
		switch {
		case full[c.owner]:
		case p.used[c.owner]+c.slots > p.most:
			if full == nil {
				full = map[string]bool{}
			}
			full[c.owner] = true
		case next < 0 || p.isBefore(c.owner, p.waiting[next].owner):
			next = i
		}
	}
	return next
}

// isBefore reports whether an owner has its turn before another one.
func (p *Pool) isBefore(owner, other string) bool {
	if p.used[owner] != p.used[other] {
		return p.used[owner] < p.used[other]
	}
	return p.last[owner] < p.last[other]
}

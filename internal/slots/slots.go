// Package slots bounds what is done at the same time, on behalf of owners who do not trust each
// other: one owner never has more than a part of all slots, so that the others do not wait for
// it.
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
//   - Callers get slots in the order in which they came, except that those who wait for other
//     callers of their own owner delay nobody else.
type Pool struct {
	most int // slots of one owner

	mu      sync.Mutex // guards the fields below
	free    int
	used    map[string]int // by owner
	waiting []*caller
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
	return &Pool{most: max(size/2, 1), free: size, used: map[string]int{}}
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
	p.grant()
}

// grant gives free slots to those who wait. The caller holds the lock.
func (p *Pool) grant() {
	kept := p.waiting[:0]
	full := false // the first one that only waits for free slots is not overtaken
	for _, c := range p.waiting {
		switch {
		case full, p.used[c.owner]+c.slots > p.most:
			kept = append(kept, c)
		case c.slots > p.free:
			full = true
			kept = append(kept, c)
		default:
			p.free -= c.slots
			if c.slots > 0 {
				p.used[c.owner] += c.slots
			}
			close(c.granted)
		}
	}
	clear(p.waiting[len(kept):])
	p.waiting = kept
}

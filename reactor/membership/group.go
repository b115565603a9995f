package membership

import "sync"

// Group are the operators of one member, which share its Lease. Each has Holdings of its own. The member acknowledges a generation
// when nothing is left of what any of them has lost.
type Group struct {
	member  string
	settled func(generation int64)

	adopting sync.Mutex // held while all Holdings get an assignment, so that none of them misses one

	mu      sync.Mutex // guards the fields below; it may be locked while one of the Holdings is
	present Assignment
	all     map[*Holdings]int64 // the generation that each has settled
}

func newGroup(member string, settled func(generation int64)) *Group {
	return &Group{member: member, settled: settled, all: map[*Holdings]int64{}}
}

// Join returns the Holdings of an operator that begins. It may take what the member owns by the present assignment.
func (g *Group) Join() *Holdings {
	g.adopting.Lock()
	defer g.adopting.Unlock()
	var h *Holdings
	h = NewHoldings(g.member, func(generation int64) { g.settle(h, generation) })
	g.mu.Lock()
	g.all[h] = 0
	present := g.present
	g.mu.Unlock()
	h.Adopt(present)
	return h
}

// Leave ends the Holdings of an operator, of whose work nothing is left.
func (g *Group) Leave(h *Holdings) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.all, h)
	g.conclude()
}

// adopt takes a new assignment.
func (g *Group) adopt(a Assignment) {
	g.adopting.Lock()
	defer g.adopting.Unlock()
	g.mu.Lock()
	g.present = a
	all := make([]*Holdings, 0, len(g.all))
	for h := range g.all {
		all = append(all, h)
	}
	g.mu.Unlock()
	for _, h := range all {
		h.Adopt(a)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.conclude() // also without any operator
}

// settle notes which generation an operator has settled.
func (g *Group) settle(h *Holdings, generation int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.all[h]; !ok {
		return // it has left
	}
	g.all[h] = generation
	g.conclude()
}

// conclude acknowledges the present generation if all operators have settled it. The caller holds the lock.
func (g *Group) conclude() {
	for _, generation := range g.all {
		if generation != g.present.Generation {
			return
		}
	}
	g.settled(g.present.Generation)
}

// Members returns how many members share the objects.
func (g *Group) Members() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.present.Members)
}

package crowd

import (
	"container/list"
	"context"
	"errors"
	"net/netip"
	"sync"
)

// Slots bounds the requests that are handled at once. Large requests take several slots.
//
// # Guarantees
//
//   - Free slots go to the waiting client that holds the fewest slots, if they suffice for
//     its request. A client with many slots therefore does not take the next one as well.
//   - Requests of one client get their slots in the order of arrival.
//   - A request that needs several slots does not block others while it waits for them.
//   - If more requests wait than allowed, the client with the most of them loses its oldest one.
type Slots struct {
	all int
	max int // requests that wait

	mu      sync.Mutex // guards all below
	free    int
	waiting int // waiting requests
	clients map[netip.Prefix]*slotClient
}

// slotClient is a client that holds slots or waits for slots.
type slotClient struct {
	held  int
	queue list.List // of *slotWait
}

// first is the request that has waited longest; nil if no request waits.
func (c *slotClient) first() *slotWait {
	if first := c.queue.Front(); first != nil {
		return first.Value.(*slotWait)
	}
	return nil
}

type slotWait struct {
	wanted int
	given  chan struct{} // closed when the waiter has its slots
	lost   chan struct{} // closed when it does not get them
}

// NewSlots makes slots, for which some requests may wait.
func NewSlots(all, waiting int) *Slots {
	return &Slots{all: all, max: waiting, free: all, clients: map[netip.Prefix]*slotClient{}}
}

// ErrSlots is the error of a request that found no free slot in time.
var ErrSlots = errors.New("too many reviews are under way")

// Share is a number of slots, but at most three quarters of all.
func (s *Slots) Share(wanted int) int { return min(wanted, max(1, s.all*3/4)) }

// Take waits for slots until the context ends, or until too many requests wait. It asks for at
// most all slots.
//
// Errors: ErrSlots.
func (s *Slots) Take(ctx context.Context, address netip.Prefix, wanted int) (give func(), err error) {
	wanted = min(max(wanted, 1), s.all)
	give = func() { s.give(address, wanted) }
	s.mu.Lock()
	c := s.clients[address]
	if c == nil {
		c = &slotClient{}
		s.clients[address] = c
	}
	if s.waiting == 0 && s.free >= wanted {
		s.free -= wanted
		c.held += wanted
		s.mu.Unlock()
		return give, nil
	}
	wait := &slotWait{wanted, make(chan struct{}), make(chan struct{})}
	place := c.queue.PushBack(wait)
	s.waiting++
	s.hand()
	s.shorten()
	s.mu.Unlock()
	select {
	case <-wait.given:
		return give, nil
	case <-wait.lost:
		return nil, ErrSlots
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-wait.given: // the slots arrived at the same moment
		return give, nil
	case <-wait.lost:
		return nil, ErrSlots
	default:
	}
	c.queue.Remove(place)
	s.waiting--
	s.forget(address, c)
	s.hand() // a smaller request may wait behind it
	return nil, ErrSlots
}

// shorten ends the wait of the oldest request of the client with the most of them, if too many
// wait. The caller holds the lock.
func (s *Slots) shorten() {
	if s.waiting <= s.max {
		return
	}
	var address netip.Prefix
	var most *slotClient
	for from, c := range s.clients {
		if most == nil || c.queue.Len() > most.queue.Len() {
			address, most = from, c
		}
	}
	lost := most.first()
	most.queue.Remove(most.queue.Front())
	s.waiting--
	s.forget(address, most)
	close(lost.lost)
}

func (s *Slots) give(address netip.Prefix, count int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.clients[address]
	c.held -= count
	s.free += count
	s.forget(address, c)
	s.hand()
}

func (s *Slots) forget(address netip.Prefix, c *slotClient) {
	if c.held == 0 && c.queue.Len() == 0 {
		delete(s.clients, address)
	}
}

// hand assigns free slots while they suffice for a waiting request. The caller holds the
// lock.
func (s *Slots) hand() {
	for s.free > 0 && s.waiting > 0 {
		var next *slotClient
		for _, c := range s.clients {
			if first := c.first(); first != nil && first.wanted <= s.free && (next == nil || c.held < next.held) {
				next = c
			}
		}
		if next == nil {
			return
		}
		wait := next.first()
		next.queue.Remove(next.queue.Front())
		s.waiting--
		s.free -= wait.wanted
		next.held += wait.wanted
		close(wait.given)
	}
}

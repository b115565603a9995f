package membership

import (
	"sync"

	"github.com/kopf-wasm/kopf/reactor/signals"
)

// Place is where objects are handled.
type Place interface {
	// Release ends the work on an object, forgets it, and then calls Holdings.Released. It must not block.
	Release(key string)
}

// State is what an object is for a member.
type State int

// The states of an object.
const (
	Foreign State = iota // another member may handle it
	Free                 // the member may take it
	Held                 // the member handles it
	Losing               // the member must end its work on it
)

// Holdings are the objects that a member handles. A member holds an object from Take to Released. As long as it holds
// objects that it has lost, it does not acknowledge the assignment.
type Holdings struct {
	mu      sync.Mutex // guards the fields below
	rights  rights
	epoch   uint64
	grown   *signals.Signal // given and replaced with each epoch
	held    map[string]*holding
	losing  int
	settled func(generation int64)
	moved   Moves
}

type holding struct {
	place  Place
	least  string // see Take
	losing bool
}

// Moves counts objects.
type Moves struct {
	Gained uint64 // taken over from other members, or from the time before the start
	Lost   uint64 // given to other members
}

// NewHoldings makes the holdings of a member. The function is called when nothing is left of what the member has lost in a
// generation.
func NewHoldings(member string, settled func(generation int64)) *Holdings {
	return &Holdings{rights: newRights(Assignment{}, member), grown: signals.New(), held: map[string]*holding{}, settled: settled}
}

// Adopt takes a new assignment. It returns at once; what is lost ends in its places.
func (h *Holdings) Adopt(a Assignment) {
	lost := map[string]Place{}
	h.mu.Lock()
	now := newRights(a, h.rights.member)
	if now.grown(h.rights) {
		h.epoch++
		h.grown.Give()
		h.grown = signals.New()
	}
	h.rights = now
	for key, one := range h.held {
		if !one.losing && !now.may(key) {
			one.losing = true
			h.losing++
			h.moved.Lost++
			lost[key] = one.place
		}
	}
	h.settle()
	h.mu.Unlock()
	for key, place := range lost {
		place.Release(key)
	}
}

// settle acknowledges the generation if nothing is left of what was lost. The caller holds the lock.
func (h *Holdings) settle() {
	if h.losing == 0 {
		h.settled(h.rights.Generation)
	}
}

// State returns the state of an object, and the version with which it was taken.
func (h *Holdings) State(key string) (state State, least string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.held[key]
	switch {
	case one != nil && one.losing:
		return Losing, one.least
	case one != nil:
		return Held, one.least
	case h.rights.may(key):
		return Free, ""
	}
	return Foreign, ""
}

// Take begins to hold an object in a state that was read after the member was allowed to: in this epoch. Older versions must
// not be handled. It returns false if the member may not hold the object, or may not have been allowed to all the time.
func (h *Holdings) Take(key string, place Place, epoch uint64, least string, moved bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held[key] != nil || h.epoch != epoch || !h.rights.may(key) {
		return false
	}
	h.held[key] = &holding{place: place, least: least}
	if moved {
		h.moved.Gained++
	}
	return true
}

// Released ends the hold of an object: nothing of the work on it is left.
func (h *Holdings) Released(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.held[key]
	if one == nil {
		return
	}
	delete(h.held, key)
	if one.losing {
		h.losing--
		h.settle()
	}
}

// In returns the keys of the objects that are held in a place.
func (h *Holdings) In(place Place) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var keys []string
	for key, one := range h.held {
		if one.place == place {
			keys = append(keys, key)
		}
	}
	return keys
}

// Epoch returns how often the member could take objects that it could not take before, and the signal that this happens
// again. In the epoch 0 it never could.
func (h *Holdings) Epoch() (epoch uint64, grown *signals.Signal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.epoch, h.grown
}

// Count returns how many objects are held, and how many have moved.
func (h *Holdings) Count() (held int, moved Moves) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.held), h.moved
}

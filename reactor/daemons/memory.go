package daemons

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/stoppers"
)

// Memory holds the daemons and timers of one object.
type Memory struct {
	live atomic.Pointer[[]byte] // the newest body; nil if no daemon or timer needs it

	mu         sync.Mutex                   // guards the fields below, and changes of live
	held       *accounts.Lease              // for live, running and stopped
	running    []*daemon                    // in the order of their ids
	stopped    map[string]bool              // those that ended by themselves, which are never restarted; true: they keep the finalizer
	started    map[string]bool              // those whose initial delay is over, until they are asked to stop
	changed    time.Time                    // when the last essential change happened
	idle       map[*daemon]*stoppers.Waiter // timers that wait for the next one
	generation uint32                       // the generation of the stopped ones
}

// NewMemory makes the memory of an object without daemons and timers. Its idle time begins at
// the given time. The generation is the current one.
func NewMemory(seen time.Time, generation uint32) *Memory {
	return &Memory{changed: seen, generation: generation}
}

// Renew allows daemons that ended by themselves to start again, because a new generation
// has other code.
func (m *Memory) Renew(generation uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.generation, m.stopped = generation, nil
	m.shrink()
}

// Approximate memory of a daemon or timer, in bytes: an object has as many as there are handlers.
const (
	cost     = 8 << 10 // of one that waits, without what its handler has
	overCost = 64      // of one that has ended by itself, for as long as the object exists
)

// size is what the account counts for a body and for the daemons and timers. The caller holds the lock.
func (m *Memory) size(body []byte) int {
	return len(body) + len(m.running)*cost + len(m.stopped)*overCost
}

// shrink gives back what is not needed any more. The caller holds the lock.
func (m *Memory) shrink() {
	_ = m.held.Resize(min(m.held.Size(), m.size(m.newest()))) // giving back is never refused
}

// Follow stores a newer body if a daemon or timer runs, which count with it. It keeps the bytes
// themselves, not a copy.
//
// Errors: accounts.ErrLimit; the memory then keeps the previous body.
func (m *Memory) Follow(account *accounts.Account, raw []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.running) == 0 {
		return nil
	}
	if m.held == nil {
		m.held = accounts.NewLease(account, accounts.Bodies, m)
	}
	if err := m.held.Resize(m.size(raw)); err != nil {
		return err
	}
	body := raw // escapes to the heap only here
	m.live.Store(&body)
	return nil
}

// newest returns the newest body; nil if none is known.
func (m *Memory) newest() []byte {
	if live := m.live.Load(); live != nil {
		return *live
	}
	return nil
}

// firstStart reports whether a daemon starts for the first time, or for the first time since forgetStart.
func (m *Memory) firstStart(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.started[id] {
		return false
	}
	if m.started == nil {
		m.started = map[string]bool{}
	}
	m.started[id] = true
	return true
}

// forgetStart makes the next start of a daemon wait for its initial delay again.
func (m *Memory) forgetStart(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.started, id)
}

func (m *Memory) changedAt() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changed
}

// NoteChange restarts the idle time, and ends the waits of timers for that.
func (m *Memory) NoteChange() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changed = time.Now()
	for d, n := range m.idle {
		d.stopper.Rouse(n)
	}
	clear(m.idle)
}

// awaitChange ends a wait of a timer with the next change, or at once if there was one since the given time.
func (m *Memory) awaitChange(d *daemon, since time.Time, n *stoppers.Waiter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.changed.After(since) {
		d.stopper.Rouse(n)
		return
	}
	if i, found := m.find(d.handler.ID); !found || m.running[i] != d {
		return // it was stopped, and has ended
	}
	if m.idle == nil {
		m.idle = map[*daemon]*stoppers.Waiter{}
	}
	m.idle[d] = n
}

// all returns the running daemons and timers, in the order of their ids.
func (m *Memory) all() []*daemon {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.running)
}

// find returns the index of a daemon among the running ones. The caller holds the lock.
func (m *Memory) find(id string) (i int, found bool) {
	return slices.BinarySearchFunc(m.running, id, func(d *daemon, id string) int { return strings.Compare(d.handler.ID, id) })
}

// IsOver reports whether a handler has ended by itself, and whether the object still keeps
// its finalizer for it.
func (m *Memory) IsOver(id string) (over, guarded bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	guarded, over = m.stopped[id]
	return over, guarded
}

// add adds a daemon, unless one with the same id still runs or has ended by itself. It
// asks for the second again: the daemon may have ended since its filters were matched.
func (m *Memory) add(d *daemon) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, found := m.find(d.handler.ID)
	if _, over := m.stopped[d.handler.ID]; found || over {
		return false
	}
	m.running = slices.Insert(m.running, i, d)
	return true
}

// ended removes a daemon. A daemon that was over without a request to stop is never
// restarted, also if its last patch has made its filters mismatch; guarded says whether the object keeps its finalizer for it.
func (m *Memory) ended(d *daemon, guarded bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if (d.over || !d.stopper.IsSet()) && d.generation == m.generation {
		if m.stopped == nil {
			m.stopped = map[string]bool{}
		}
		m.stopped[d.handler.ID] = guarded
	}
	delete(m.idle, d)
	if i, found := m.find(d.handler.ID); found {
		m.running = slices.Delete(m.running, i, i+1)
	}
	if len(m.running) == 0 {
		m.live.Store(nil)
	}
	m.shrink()
}

// runs reports whether a daemon or timer runs.
func (m *Memory) runs(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, found := m.find(id)
	return found
}

// IDs returns the ids of the running daemons and timers, in their order.
func (m *Memory) IDs() []string {
	var ids []string
	for _, d := range m.all() {
		ids = append(ids, d.handler.ID)
	}
	return ids
}

package daemons

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopf-wasm/kopf/internal/accounts"
)

// Memory are the daemons and timers of one object.
type Memory struct {
	live atomic.Pointer[[]byte] // the newest body; nil if nobody looks at it

	mu         sync.Mutex      // guards all below, and changes of live
	held       *accounts.Lease // for live
	running    []*daemon       // in the order of their ids
	stopped    map[string]bool // those that ended by themselves: never started again; true: they keep the finalizer
	started    map[string]bool // those whose initial delay is over
	changed    time.Time       // the last essential change
	generation uint32          // that the stopped ones are of
}

// Renew lets daemons that ended by themselves be started anew: their code is another.
func (m *Memory) Renew(generation uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.generation, m.stopped = generation, nil
}

// Follow takes a newer body, if anything runs that looks at it. What is pointed to is a
// copy: the cause that a body comes from must not live as long.
//
// Errors: accounts.ErrLimit; then the body is the one before.
func (m *Memory) Follow(account *accounts.Account, raw []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.running) == 0 {
		return nil
	}
	if m.held == nil {
		m.held = accounts.NewLease(account, accounts.Bodies, m)
	}
	if err := m.held.Resize(len(raw)); err != nil {
		return err
	}
	body := raw // moved to the heap only here
	m.live.Store(&body)
	return nil
}

// newest is the newest body; nil if nothing is known of it.
func (m *Memory) newest() []byte {
	if live := m.live.Load(); live != nil {
		return *live
	}
	return nil
}

// firstStart tells whether a daemon is started for the first time.
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

func (m *Memory) changedAt() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changed
}

// NoteChange begins the idle time anew.
func (m *Memory) NoteChange() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changed = time.Now()
}

// all are the running daemons and timers, in the order of their ids.
func (m *Memory) all() []*daemon {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.running)
}

// find is the place of a daemon among the running ones. The lock is held.
func (m *Memory) find(id string) (i int, found bool) {
	return slices.BinarySearchFunc(m.running, id, func(d *daemon, id string) int { return strings.Compare(d.handler.ID, id) })
}

// IsOver tells whether a handler has ended by itself, and whether the object keeps its
// finalizer for it nevertheless.
func (m *Memory) IsOver(id string) (over, guarded bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	guarded, over = m.stopped[id]
	return over, guarded
}

// add takes a daemon in, unless one is still running: there are never two.
func (m *Memory) add(d *daemon) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, found := m.find(d.handler.ID)
	if found {
		return false
	}
	m.running = slices.Insert(m.running, i, d)
	return true
}

// ended forgets a daemon. One that was not told to end is never started again; the object
// may keep its finalizer for it.
func (m *Memory) ended(d *daemon, guarded bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !d.stopper.IsSet() && d.generation == m.generation {
		if m.stopped == nil {
			m.stopped = map[string]bool{}
		}
		m.stopped[d.handler.ID] = guarded
	}
	if i, found := m.find(d.handler.ID); found {
		m.running = slices.Delete(m.running, i, i+1)
	}
	if len(m.running) == 0 {
		m.live.Store(nil)
		m.held.Release()
	}
}

// Running is how many daemons and timers of the object run.
func (m *Memory) Running() int { return len(m.all()) }

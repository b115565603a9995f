package membership

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/kopf-wasm/kopf/reactor/leadership"
)

// electionLease is the name of the Lease of the election among those of the members.
const electionLease = ""

// memory has Leases without a cluster.
type memory struct {
	mu      sync.Mutex // guards the fields below
	leases  map[string]leadership.Lease
	version int
}

func newMemory() *memory { return &memory{leases: map[string]leadership.Lease{}} }

// lease is one of the Leases.
type lease struct {
	*memory
	name string
}

func (l lease) Read(context.Context) (leadership.Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leases[l.name], nil
}

func (l lease) Write(_ context.Context, state leadership.Lease) (leadership.Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if state.Version != l.leases[l.name].Version {
		return leadership.Lease{}, leadership.ErrConflict
	}
	l.put(l.name, state)
	return l.leases[l.name], nil
}

// put stores a Lease whatever its version is. The caller holds the lock.
func (m *memory) put(name string, state leadership.Lease) {
	m.version++
	state.Version = strconv.Itoa(m.version)
	m.leases[name] = state
}

func (m *memory) Election() leadership.Store { return lease{m, electionLease} }

func (m *memory) Of(member string) leadership.Store { return lease{m, member} }

func (m *memory) List(context.Context) (map[string]leadership.Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := maps.Clone(m.leases)
	delete(all, electionLease)
	return all, nil
}

var errNotDeleted = errors.New("it has changed")

func (m *memory) Delete(_ context.Context, member string, state leadership.Lease) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.leases[member].Version != state.Version {
		return errNotDeleted
	}
	delete(m.leases, member)
	return nil
}

// damage deletes or clears a Lease as a person does.
func (m *memory) damage(name string, deletes bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if state, ok := m.leases[name]; deletes {
		delete(m.leases, name)
	} else if ok {
		state.Holder = ""
		m.put(name, state)
	}
}

// names are the names of all Leases.
func (m *memory) names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.leases))
}

package leadership_test

import (
	"context"
	"strconv"
	"sync"

	"github.com/kopf-wasm/kopf/reactor/leadership"
)

// memory is a Store without a cluster.
type memory struct {
	mu      sync.Mutex // guards the fields below
	lease   leadership.Lease
	version int
}

func (m *memory) Read(context.Context) (leadership.Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lease, nil
}

func (m *memory) Write(_ context.Context, lease leadership.Lease) (leadership.Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if lease.Version != m.lease.Version {
		return leadership.Lease{}, leadership.ErrConflict
	}
	m.put(lease)
	return m.lease, nil
}

// put stores a Lease whatever its version is.
func (m *memory) put(lease leadership.Lease) {
	m.version++
	lease.Version = strconv.Itoa(m.version)
	m.lease = lease
}

// edit changes the Lease as a person does.
func (m *memory) edit(change func(*leadership.Lease)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	lease := m.lease
	change(&lease)
	m.put(lease)
}

// remove deletes the Lease.
func (m *memory) remove() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lease = leadership.Lease{}
}

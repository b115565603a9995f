package accounts

import (
	"sync"
	"sync/atomic"
)

// process counts what all operators of the process have taken.
type process struct {
	limit   int64
	used    atomic.Int64
	waiting atomic.Int32 // calls that wait for others to give

	mu      sync.Mutex // guards changed
	changed chan struct{}
}

// reviewing counts Reviews. The variable is global because the memory is that of the process.
var reviewing = newProcess(1 << 30)

func newProcess(limit int64) *process { return &process{limit: limit, changed: make(chan struct{})} }

// Tenant counts what the operators of one tenant have taken of Reviews, and of the memory mappings of the process. A tenant can have
// many operators, whose handlers are as slow as it likes: without a bound of its own, it would leave nothing for others. The zero value
// is empty. It is safe for concurrent use.
type Tenant struct{ reviews, mappings atomic.Int64 }

// TakeMappings counts mappings, if all are within a limit. A nil tenant counts nothing.
func (t *Tenant) TakeMappings(limit, n int64) (before int64, ok bool) {
	if t == nil {
		return 0, true
	}
	return AddWithin(limit, &t.mappings, n)
}

// GiveMappings gives back mappings.
func (t *Tenant) GiveMappings(n int64) {
	if t != nil {
		t.mappings.Add(-n)
	}
}

// add counts bytes, if all are within a limit. A nil tenant counts nothing.
func (t *Tenant) add(limit, bytes int64) (before int64, ok bool) {
	if t == nil {
		return 0, true
	}
	return AddWithin(limit, &t.reviews, bytes)
}

// give gives back bytes.
func (t *Tenant) give(bytes int64) {
	if t != nil {
		t.reviews.Add(-bytes)
	}
}

// given returns a channel that is closed when bytes are given back.
func (p *process) given() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// give gives back bytes, and wakes all calls that wait.
func (p *process) give(bytes int) {
	p.used.Add(-int64(bytes))
	if p.waiting.Load() == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.changed)
	p.changed = make(chan struct{})
}

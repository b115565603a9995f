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

package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// pool keeps the instances of a module: those that are in use, bounded, and a few idle ones.
type pool struct {
	permits chan struct{} // one token for each instance in use
	daemons chan struct{} // the same for instances of daemons
	reviews chan struct{} // the same for instances that answer the API server

	stacks *stacks

	mu       sync.Mutex
	idle     []*instance // the latest used one at the end: its memory is warm
	shared   []*instance // with daemons, and room for more
	living   map[*instance]bool
	made     int64 // instances, since the beginning
	culprits culprits
	reaping  bool // a timer runs that drops idle instances
	closed   bool
}

func newPool(o *Options) *pool {
	return &pool{
		permits: make(chan struct{}, o.MaxInstances), daemons: make(chan struct{}, o.MaxDaemons),
		reviews: make(chan struct{}, o.MaxReviews), stacks: newStacks(),
		living: map[*instance]bool{},
	}
}

// errClosed is what calls of a closed module give.
var errClosed = errors.New("the module is closed")

// acquire takes an idle instance, or makes one, and locks it. It waits while too
// many are in use.
func (m *Module) acquire(ctx context.Context, permits chan struct{}) (*instance, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%s: %w", m.name, context.Cause(ctx))
	}
	if m.program != nil {
		return m.program.in, m.program.in.lock(ctx)
	}
	select {
	case permits <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: no free instance: %w", m.name, context.Cause(ctx))
	}
	takeCore() // first, so that bursts do not make more instances than can compute
	in, fresh, err := m.pool.take(m)
	if err != nil {
		leaveCore()
		<-permits
		return nil, fmt.Errorf("%s: %w", m.name, err)
	}
	in.busy <- struct{}{} // only Close may have it now, for a moment
	in.permits, in.load = permits, 0
	if fresh {
		if err := in.create(ctx); err != nil {
			in.dead = err
			m.pool.give(in)
			in.unlock()
			return nil, err
		}
	}
	return in, nil
}

// take returns an idle instance, or a fresh one that is still to be created. It
// is known to the pool from now on, so that closing the module waits for it.
func (p *pool) take(m *Module) (in *instance, fresh bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false, errClosed
	}
	if n := len(p.idle) - 1; n >= 0 {
		in = p.idle[n]
		p.idle[n] = nil
		p.idle = p.idle[:n]
		return in, false, nil
	}
	in = m.newInstance()
	p.living[in] = true
	p.made++
	return in, true, nil
}

// give takes back an instance without tasks. No call runs in it: the caller holds it.
func (p *pool) give(in *instance) {
	if in.program != nil {
		return // it is always there
	}
	retired := in.retired()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed && !retired && len(p.idle) < in.m.options.MaxIdle {
		in.idleSince = time.Now()
		p.idle = append(p.idle, in)
		p.reapLater(in.m.options.IdleTimeout)
	} else {
		delete(p.living, in)
		in.close()
	}
	<-in.permits
}

// reapLater lets a timer drop instances that nobody needs. The lock is held.
func (p *pool) reapLater(timeout time.Duration) {
	if p.reaping || p.closed || len(p.idle) == 0 {
		return
	}
	p.reaping = true
	time.AfterFunc(time.Until(p.idle[0].idleSince.Add(timeout)), func() { p.reap(timeout) })
}

// reap drops the instances that have been idle for too long: they are at the front.
func (p *pool) reap(timeout time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reaping = false
	for len(p.idle) > 0 && time.Since(p.idle[0].idleSince) >= timeout {
		delete(p.living, p.idle[0])
		p.idle[0].close()
		p.idle = append(p.idle[:0], p.idle[1:]...)
	}
	p.reapLater(timeout)
}

// shut lets no more instances out and returns those that live.
func (p *pool) shut() []*instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.idle = nil
	var all []*instance
	for in := range p.living {
		all = append(all, in)
	}
	return all
}

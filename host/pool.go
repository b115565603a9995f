package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// pool keeps the instances of a module: those that are in use, bounded, and a few idle ones.
type pool struct {
	permits chan struct{} // one token for each instance in use

	mu     sync.Mutex
	idle   []*instance // the latest used one at the end: its memory is warm
	living map[*instance]bool
	closed bool
}

func newPool(o *Options) *pool {
	return &pool{permits: make(chan struct{}, o.MaxInstances), living: map[*instance]bool{}}
}

// errClosed is what calls of a closed module give.
var errClosed = errors.New("the module is closed")

// acquire takes an idle instance, or makes one. It waits while too many are in use.
func (m *Module) acquire(ctx context.Context) (*instance, error) {
	select {
	case m.pool.permits <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: no free instance: %w", m.name, context.Cause(ctx))
	}
	in, err := m.pool.take()
	if in == nil && err == nil {
		if in, err = m.newInstance(ctx); err == nil {
			err = m.pool.add(in)
		}
	}
	if err != nil {
		<-m.pool.permits
		return nil, err
	}
	return in, nil
}

// take returns an idle instance, or nil if there is none.
func (p *pool) take() (*instance, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	n := len(p.idle) - 1
	if n < 0 {
		return nil, nil
	}
	in := p.idle[n]
	p.idle[n] = nil
	p.idle = p.idle[:n]
	return in, nil
}

// add makes a new instance known, so that closing the module reaches it.
func (p *pool) add(in *instance) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		in.close()
		return errClosed
	}
	p.living[in] = true
	return nil
}

// give takes back an instance without tasks. No call runs in it: the caller holds it.
func (p *pool) give(in *instance) {
	retired := in.retired()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed && !retired && len(p.idle) < in.m.options.MaxIdle {
		p.idle = append(p.idle, in)
	} else {
		delete(p.living, in)
		in.close()
	}
	<-p.permits
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

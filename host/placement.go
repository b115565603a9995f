package host

import (
	"context"
	"fmt"

	"github.com/kopf-wasm/kopf/abi"
)

// place finds an instance for a new task, and locks it: one of its own, bounded by
// MaxInstances, so that nothing of a handler touches another one; daemons, which
// live long, have a bound of their own, and share instances if the guest can.
func (m *Module) place(ctx context.Context, kind abi.Kind) (*instance, error) {
	switch {
	case kind != abi.KindDaemon && kind != abi.KindBackground:
		return m.acquire(ctx, m.pool.permits)
	case m.registration == nil || !m.registration.SharedTasks:
		return m.acquire(ctx, m.pool.daemons)
	}
	for {
		in, err := m.join(ctx)
		if in != nil || err != nil {
			return in, err
		}
	}
}

// join finds room on a shared instance, or makes one. It returns nil if the
// instance was retired meanwhile.
func (m *Module) join(ctx context.Context) (*instance, error) {
	if in := m.pool.share(m.options.SharedTasks); in != nil {
		if err := in.lock(ctx); err != nil {
			m.pool.leave(in)
			return nil, fmt.Errorf("%s: no room on an instance: %w", m.name, err)
		}
		if !in.retired() {
			return in, nil
		}
		m.pool.leave(in)
		in.unlock()
		return nil, nil
	}
	in, err := m.acquire(ctx, m.pool.daemons)
	if err != nil {
		return nil, err
	}
	m.pool.open(in)
	return in, nil
}

// share reserves a place on a shared instance; nil if there is none.
func (p *pool) share(limit int) *instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, in := range p.shared {
		if in.load < limit {
			in.load++
			return in
		}
	}
	return nil
}

// open makes an instance a shared one, with its first task.
func (p *pool) open(in *instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	in.load = 1
	p.shared = append(p.shared, in)
}

// leave gives back a place on an instance: the last task of a shared one takes the
// instance with it. The caller holds the instance, unless it has never had it.
func (p *pool) leave(in *instance) {
	p.mu.Lock()
	in.load--
	load := in.load
	full := load > 0 && (in.dead != nil || in.tainted)
	if load == 0 || full {
		for i, other := range p.shared {
			if other == in {
				p.shared = append(p.shared[:i], p.shared[i+1:]...)
				break
			}
		}
	}
	p.mu.Unlock()
	if load == 0 {
		p.give(in)
	}
}

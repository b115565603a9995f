package host

import (
	"context"
	"fmt"
	"slices"

	"github.com/kopf-wasm/kopf/abi"
)

// permitsFor returns the permits for handlers that need an exclusive instance. Reviews have
// separate permits, because the handlers with all other instances may wait for the API
// server, which waits for a review.
func (m *Module) permitsFor(kind abi.Kind) chan struct{} {
	switch kind {
	case abi.KindValidate, abi.KindMutate, abi.KindConvert:
		return m.pool.reviews
	}
	return m.pool.permits
}

// place finds an instance for a new task, and locks it. A handler gets an exclusive
// instance, bounded by MaxInstances or MaxReviews. Daemons are long-lived: they are bounded
// by MaxDaemons, and share instances if the guest supports it. A daemon that has destroyed
// an instance gets an exclusive one, see culprits. Startup handlers have the instance of Keep.
func (m *Module) place(ctx context.Context, inv *abi.Invocation, env Env) (*instance, error) {
	switch {
	case m.pool.only != nil:
		return m.board(ctx, env)
	case inv.Kind == abi.KindStartup:
		return m.acquireFor(ctx, m.pool.permits, env, true)
	case inv.Kind != abi.KindDaemon && inv.Kind != abi.KindBackground:
		return m.acquire(ctx, m.permitsFor(inv.Kind), env)
	case !m.sharesTasks(), m.pool.mustBeAlone(inv):
		return m.acquire(ctx, m.pool.daemons, env)
	}
	for {
		in, err := m.join(ctx, env)
		if in != nil || err != nil {
			return in, err
		}
	}
}

// board adds a task to the only instance.
func (m *Module) board(ctx context.Context, env Env) (*instance, error) {
	in, err := m.acquire(ctx, nil, env)
	if err == nil {
		m.pool.mu.Lock()
		in.load++
		m.pool.mu.Unlock()
	}
	return in, err
}

// sharesTasks reports whether daemons of the guest can share an instance.
func (m *Module) sharesTasks() bool { return m.registration != nil && m.registration.SharedTasks }

// join finds room on a shared instance, or creates one. It returns nil if the instance was
// retired in the meantime.
func (m *Module) join(ctx context.Context, env Env) (*instance, error) {
	if in := m.pool.share(m.options.SharedTasks); in != nil {
		if err := in.lock(ctx, env); err != nil {
			m.pool.resign(in)
			return nil, fmt.Errorf("%s: no room on an instance: %w", m.name, err)
		}
		if !in.retired() {
			return in, nil
		}
		m.pool.withdraw(in)
		in.vacate(true)
		in.unlock()
		return nil, nil
	}
	in, err := m.acquire(ctx, m.pool.daemons, env)
	if err != nil {
		return nil, err
	}
	m.pool.open(in)
	return in, nil
}

// share reserves a place on a shared instance, or returns nil.
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

// leave gives back a place on an instance that the caller holds, if the task has one. It
// reports whether no place is taken: shared instances then get no more tasks, and exclusive
// instances have no places.
func (p *pool) leave(in *instance, place bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if place && in.load > 0 {
		if in.load--; in.load == 0 {
			p.drop(in)
		}
	}
	return in.load == 0
}

// resign gives back a place of a caller that does not hold the instance. Only a holder may
// return an instance to the pool. The last caller therefore waits for the instance, at most
// for one call of a child.
func (p *pool) resign(in *instance) {
	p.mu.Lock()
	last := in.load == 1
	if !last {
		in.load--
	}
	p.mu.Unlock()
	if last {
		in.hold()
		in.vacate(true)
		in.release()
	}
}

// withdraw admits no more tasks to a shared instance.
func (p *pool) withdraw(in *instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(in)
}

// drop removes an instance from the shared ones, if it is among them. The caller holds the
// lock.
func (p *pool) drop(in *instance) {
	p.shared = slices.DeleteFunc(p.shared, func(other *instance) bool { return other == in })
}

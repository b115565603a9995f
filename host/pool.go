package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// pool keeps the instances of a module: a bounded number in use, and a few idle ones.
//
// # Lock order
//
// These are all resources of this package that a goroutine can wait for, in the order in
// which it may take them:
//
//  1. a permit of a pool (permits, daemons, reviews);
//  2. an instance (instance.busy);
//  3. a core (cores);
//  4. a mutex (pool.mu, stacks.mu, output.Stream.mu).
//
// A goroutine that holds one of these waits only for those further down. It may release them
// in any order. Three consequences are easy to miss:
//
//   - acquire takes a core before it chooses an instance, so it only tries to take the
//     instance; where that fails, it gives up the core and waits for the instance without it.
//   - Close takes instances without a core: it runs no code of the guest.
//   - Code under pool.mu closes and writes nothing, because both can block.
type pool struct {
	permits chan struct{} // one token for each instance in use
	daemons chan struct{} // one token for each instance of daemons
	reviews chan struct{} // one token for each instance that answers the API server

	stacks *stacks

	// only is the one instance of a guest that the engine cannot create or discard: a native
	// program. It has all tasks and no permits. Nil: the pool has any number of instances.
	only *instance

	mu       sync.Mutex
	started  *instance   // idle, and only for startup handlers and Keep; nil: none
	idle     []*instance // the last used one is at the end, because its memory is warm
	shared   []*instance // with daemons, and room for more
	living   map[*instance]bool
	made     int64 // number of instances that were created
	culprits culprits
	reaping  bool // a timer is running that drops idle instances
	closed   bool
}

func newPool(o *Options) *pool {
	return &pool{
		permits: make(chan struct{}, o.MaxInstances), daemons: make(chan struct{}, o.MaxDaemons),
		reviews: make(chan struct{}, o.MaxReviews), stacks: newStacks(),
		living: map[*instance]bool{},
	}
}

// addOnly makes an instance the only one. The constant load keeps it from being given back.
func (p *pool) addOnly(in *instance) {
	in.load = 1
	p.only, p.living[in], p.made = in, true, 1
}

// errClosed is the error of calls of a closed module.
var errClosed = errors.New("the module is closed")

// acquire takes an idle instance, or creates one, and locks it. It waits while all permits
// are in use. The Env is that of the task. Nil: the module is being loaded,
// which does not wait for the rate of its share.
func (m *Module) acquire(ctx context.Context, permits chan struct{}, env Env) (*instance, error) {
	return m.acquireFor(ctx, permits, env, false)
}

// acquireFor is acquire, also for startup handlers.
func (m *Module) acquireFor(ctx context.Context, permits chan struct{}, env Env, startup bool) (*instance, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%s: %w", m.name, context.Cause(ctx))
	}
	if in := m.pool.only; in != nil {
		return in, in.lock(ctx, env)
	}
	if err := seize(ctx, permits, env); err != nil {
		return nil, fmt.Errorf("%s: no free instance: %w", m.name, err)
	}
	// Before the choice, so that a burst does not create more instances than can compute.
	if env == nil {
		m.options.Share.Take()
	} else if err := m.options.Share.Enter(ctx); err != nil {
		<-permits
		return nil, fmt.Errorf("%s: %w", m.name, err)
	}
	in, fresh, err := m.pool.take(m, startup)
	if err != nil {
		m.options.Share.Leave()
		<-permits
		return nil, fmt.Errorf("%s: %w", m.name, err)
	}
	in.holdWithCore()
	in.permits = permits
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

// take returns an idle instance, or a new one that create has to prepare. The pool knows the
// instance from now on, so that Close waits for it. Startup handlers have an instance that no other
// handler has used, one after another.
func (p *pool) take(m *Module, startup bool) (in *instance, fresh bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false, errClosed
	}
	if startup {
		in, p.started = p.started, nil
	} else if n := len(p.idle) - 1; n >= 0 {
		in = p.idle[n]
		p.idle[n] = nil
		p.idle = p.idle[:n]
	}
	if in != nil {
		return in, false, nil
	}
	in = m.newInstance()
	in.starting = startup
	p.living[in] = true
	p.made++
	return in, true, nil
}

// finish returns the instance of the startup handlers, which others may use from now on; nil: there
// is none.
func (p *pool) finish() *instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	in := p.started
	p.started = nil
	if in != nil {
		in.starting = false
	}
	return in
}

// give takes back an instance without tasks, which the caller holds. It closes an instance
// that cannot be used again.
func (p *pool) give(in *instance) {
	if in == p.only {
		return
	}
	permits := in.permits
	p.settle(in)
	<-permits
}

// settle keeps an instance that the caller holds for later calls, or closes it.
func (p *pool) settle(in *instance) {
	if !p.keep(in) {
		in.close()
		p.forget(in)
	}
}

// keep adds an instance to the idle ones, unless it is retired or there are enough idle
// ones.
func (p *pool) keep(in *instance) bool {
	retired := in.retired()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed || retired:
		return false
	case in.starting:
		if p.started != nil {
			return false
		}
		p.started = in
		return true
	case len(p.idle) >= in.m.options.MaxIdle:
		return false
	}
	in.idleSince = time.Now()
	p.idle = append(p.idle, in)
	p.reapLater(in.m.options.IdleTimeout)
	return true
}

// forget removes a closed instance.
func (p *pool) forget(in *instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.living, in)
}

// reapLater starts a timer that drops idle instances. The caller holds the lock.
func (p *pool) reapLater(timeout time.Duration) {
	if p.reaping || p.closed || len(p.idle) == 0 {
		return
	}
	p.reaping = true
	time.AfterFunc(time.Until(p.idle[0].idleSince.Add(timeout)), func() { p.reap(timeout) })
}

// reap closes the instances that have been idle for too long.
func (p *pool) reap(timeout time.Duration) {
	for _, in := range p.overdue(timeout) {
		in.hold()
		in.close()
		in.release()
		p.forget(in)
	}
}

// overdue removes and returns the instances that have been idle for too long. They are at
// the front.
func (p *pool) overdue(timeout time.Duration) []*instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reaping = false
	n := 0
	for n < len(p.idle) && time.Since(p.idle[n].idleSince) >= timeout {
		n++
	}
	overdue := slices.Clone(p.idle[:n])
	p.idle = slices.Delete(p.idle, 0, n)
	p.reapLater(timeout)
	return overdue
}

// shut stops handing out instances, and returns the living ones.
func (p *pool) shut() []*instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.idle, p.started = nil, nil
	return slices.Collect(maps.Keys(p.living))
}

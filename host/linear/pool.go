package linear

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/kopf-wasm/kopf/internal/accounts"
)

// ErrPool says that a pool has no room for more memory.
var ErrPool = errors.New("the memory of all instances is over its limit")

// Pool bounds the sizes of several memories together. It is safe for concurrent use. A nil pool
// bounds nothing.
type Pool struct {
	limit         int64
	charge        *accounts.Charge // see Of; nil: none
	used, refused atomic.Int64
}

// NewPool makes a pool of so many bytes.
func NewPool(limit int64) *Pool { return &Pool{limit: limit} }

// Of makes the memories those of an operator of a tenant, which has at most half of the mappings of the process, and a part of its memory,
// in all of its pools. It must be called before the pool is used.
func (p *Pool) Of(c *accounts.Charge) { p.charge = c }

// Charge is that of the operator; nil: none.
func (p *Pool) Charge() *accounts.Charge {
	if p == nil {
		return nil
	}
	return p.charge
}

// Limit returns the size of the pool, in bytes.
func (p *Pool) Limit() int64 { return p.limit }

// Used returns the size of the memories, in bytes. Pages that they share count for each of them.
func (p *Pool) Used() int64 { return p.used.Load() }

// Refused returns how often a memory could not be made, or not grow.
func (p *Pool) Refused() int64 { return p.refused.Load() }

// Take reserves bytes.
//
// Errors: ErrPool; accounts.BudgetError, if the tenant gets no more.
func (p *Pool) Take(size int) error {
	if p == nil || size <= 0 {
		return nil
	}
	used, ok := accounts.AddWithin(p.limit, &p.used, int64(size))
	if !ok {
		p.refused.Add(1)
		return fmt.Errorf("%w of %d bytes: the instances of the operator take %d bytes, and %d more were refused", ErrPool, p.limit, used, size)
	}
	if err := p.charge.Take(int64(size)); err != nil {
		p.used.Add(-int64(size))
		return err
	}
	return nil
}

// Give gives bytes back.
func (p *Pool) Give(size int) {
	if p != nil {
		p.used.Add(-int64(size))
		p.charge.Give(int64(size))
	}
}

// takeMappings takes mappings of the tenant.
func (p *Pool) takeMappings(n int64) error {
	if p == nil {
		return nil
	}
	limit := mappings.limit.Load() / 2
	if used, ok := p.charge.TakeMappings(limit, n); !ok {
		return fmt.Errorf("%w: instances of the namespace take %d of the %d that it may have: raise vm.max_map_count, or lower MaxDaemons", ErrMappings, used, limit)
	}
	return nil
}

func (p *Pool) giveMappings(n int64) {
	if p != nil {
		p.charge.GiveMappings(n)
	}
}

// Within counts the memory in a pool until Free, together with so many bytes that the engine keeps
// besides it: it cannot grow beyond what the pool has. It must be called once, before the memory is used.
//
// Errors: those of Pool.Take; ErrMappings, if the tenant of the pool has too many.
func (m *Memory) Within(pool *Pool, overhead int) error {
	size := m.committed + overhead
	if err := pool.Take(size); err != nil {
		return err
	}
	if err := pool.takeMappings(m.mapped); err != nil {
		pool.Give(size)
		return err
	}
	m.pool, m.overhead = pool, overhead
	return nil
}

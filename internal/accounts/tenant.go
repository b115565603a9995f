package accounts

import (
	"fmt"
	"math"
	"sync/atomic"
)

// Budget is the memory that the operators of all tenants of a process have together. It is safe for concurrent use. A nil budget has no
// end.
//
// A tenant that has twice of what is left gets no more: see Charge.Take.
type Budget struct {
	limit int64
	used  atomic.Int64
}

// NewBudget makes a budget of so many bytes.
func NewBudget(bytes int64) *Budget { return &Budget{limit: bytes} }

// Limit is the size of the budget, in bytes.
func (b *Budget) Limit() int64 { return b.limit }

// Used is what the tenants have of the budget, in bytes.
func (b *Budget) Used() int64 { return b.used.Load() }

// left is what no tenant has, in bytes.
func (b *Budget) left() int64 { return max(0, b.limit-b.used.Load()) }

// greed is how much a tenant may have of a budget: so many times what is left. One tenant alone gets two thirds, each of two two fifths,
// and so on: however many take what they can get, something is left for one more. Network switches share their buffers in this way:
// Choudhury and Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", 1998.
const greed = 2

// take takes bytes of the budget for a tenant.
func (b *Budget) take(t *Tenant, bytes int64) error {
	left := b.left()
	held, ok := AddWithin(greed*max(0, left-bytes), &t.memory, bytes)
	if ok {
		if _, ok = AddWithin(b.limit, &b.used, bytes); !ok {
			t.memory.Add(-bytes)
		}
	}
	if !ok {
		return &BudgetError{Budget: b.limit, Held: held, Left: left, Wanted: bytes}
	}
	return nil
}

// Tenant counts what the operators of one tenant have in memory, what they have taken of Reviews, and of the memory mappings of the process.
// A tenant can have many operators, whose handlers are as slow as it likes: without bounds of its own, it would leave nothing for
// others. The zero value is a tenant without a budget. It is safe for concurrent use.
type Tenant struct {
	// Budget is what the tenant shares with others. It must be set before the tenant is used. Nil: there is none.
	Budget *Budget

	memory, reviews, mappings atomic.Int64
}

// Memory is what the operators of the tenant have, in bytes.
func (t *Tenant) Memory() int64 { return t.memory.Load() }

// BudgetError says that a tenant gets no more memory. Sizes are in bytes.
type BudgetError struct {
	Budget int64 // of all tenants
	Held   int64 // by the tenant
	Left   int64 // by all tenants
	Wanted int64
}

// Error returns a text with the sizes.
func (e *BudgetError) Error() string {
	const mebibyte = 1 << 20
	return fmt.Sprintf("the memory that all operators share is scarce: those of the namespace have %.1f of %.1f MiB, of which %.1f are left, and %.1f more were refused",
		float64(e.Held)/mebibyte, float64(e.Budget)/mebibyte, float64(e.Left)/mebibyte, float64(e.Wanted)/mebibyte)
}

// Unwrap returns ErrLimit.
func (e *BudgetError) Unwrap() error { return ErrLimit }

// Charge is what one operator has of what its tenant may have. A nil charge counts nothing. It is safe for concurrent use, and
// lock-free.
type Charge struct {
	tenant  *Tenant
	memory  atomic.Int64 // closed after Close
	refused atomic.Int64
}

// closed is the memory of a charge that is closed.
const closed = math.MinInt64

// NewCharge makes an empty charge of a tenant; nil: the operator shares nothing with others.
func NewCharge(of *Tenant) *Charge {
	if of == nil {
		return nil
	}
	return &Charge{tenant: of}
}

// Take takes memory, in bytes, unless the tenant then has more than twice of what is left of its budget.
//
// Errors: BudgetError, without counting.
func (c *Charge) Take(bytes int64) error {
	if !c.counts(bytes) {
		return nil
	}
	if err := c.tenant.Budget.take(c.tenant, bytes); err != nil {
		c.refused.Add(1)
		return err
	}
	c.count(bytes)
	return nil
}

// Force takes memory that is in use already, whatever is left.
//
// Errors: BudgetError, after counting: the tenant has more than Take gives it, so the operator should end.
func (c *Charge) Force(bytes int64) error {
	err := c.Take(bytes)
	if err != nil {
		c.tenant.memory.Add(bytes)
		c.tenant.Budget.used.Add(bytes)
		c.count(bytes)
	}
	return err
}

// counts reports whether memory counts: only with a budget, and something.
func (c *Charge) counts(bytes int64) bool {
	return c != nil && c.tenant.Budget != nil && bytes > 0
}

// count adds to the charge what its tenant has got, or gives it back if the charge is closed.
func (c *Charge) count(bytes int64) {
	if !c.add(bytes) {
		c.tenant.give(bytes)
	}
}

// add changes what the operator has, unless the charge is closed.
func (c *Charge) add(bytes int64) (open bool) {
	for {
		before := c.memory.Load()
		if before == closed {
			return false
		}
		if c.memory.CompareAndSwap(before, before+bytes) {
			return true
		}
	}
}

// Give gives back memory, in bytes. After Close, it does nothing.
func (c *Charge) Give(bytes int64) {
	if c.counts(bytes) && c.add(-bytes) {
		c.tenant.give(bytes)
	}
}

// Close gives back all that is left: the operator has ended. It may be called again.
func (c *Charge) Close() {
	if c == nil {
		return
	}
	if left := c.memory.Swap(closed); left != closed {
		c.tenant.give(left)
	}
}

// Memory is what the operator has, in bytes, and how often more was refused.
func (c *Charge) Memory() (held, refused int64) {
	if c == nil {
		return 0, 0
	}
	return max(0, c.memory.Load()), c.refused.Load()
}

// give gives back memory to the budget.
func (t *Tenant) give(bytes int64) {
	if t.Budget != nil {
		t.memory.Add(-bytes)
		t.Budget.used.Add(-bytes)
	}
}

// TakeMappings counts mappings of the tenant, if all are within a limit.
func (c *Charge) TakeMappings(limit, n int64) (before int64, ok bool) {
	if c == nil {
		return 0, true
	}
	return AddWithin(limit, &c.tenant.mappings, n)
}

// GiveMappings gives back mappings.
func (c *Charge) GiveMappings(n int64) {
	if c != nil {
		c.tenant.mappings.Add(-n)
	}
}

// takeReviews counts bytes of Reviews, if all of the tenant are within a limit.
func (c *Charge) takeReviews(limit, bytes int64) (before int64, ok bool) {
	if c == nil {
		return 0, true
	}
	return AddWithin(limit, &c.tenant.reviews, bytes)
}

// giveReviews gives back bytes of Reviews.
func (c *Charge) giveReviews(bytes int64) {
	if c != nil {
		c.tenant.reviews.Add(-bytes)
	}
}

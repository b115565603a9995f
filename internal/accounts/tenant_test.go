package accounts

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// fill takes as much as a charge gets, in steps of ten bytes, and returns it.
func fill(c *Charge) (taken int64) {
	const step = 10
	for c.Take(step) == nil {
		taken += step
	}
	return taken
}

// TestABudgetLeavesSomethingForOneMore: however many tenants take all that they get, and in which order.
func TestABudgetLeavesSomethingForOneMore(t *testing.T) {
	const limit = 3_000_000
	for _, tenants := range []int{1, 2, 7} {
		budget := NewBudget(limit)
		var greedy []*Charge
		for range tenants {
			greedy = append(greedy, NewCharge(&Tenant{Budget: budget}))
		}
		for range 100 { // each takes a little more than the others, until none gets more
			for _, c := range greedy {
				for range 10_000 / tenants {
					_ = c.Take(10)
				}
			}
		}
		part := int64(limit * greed / (1 + greed*tenants))
		for i, c := range greedy {
			if held, refused := c.Memory(); held < part-1000 || held > part+1000 || refused == 0 {
				t.Errorf("%d tenants: number %d has %d bytes, want %d; %d refusals", tenants, i, held, part, refused)
			}
		}
		if got := fill(NewCharge(&Tenant{Budget: budget})); got < part/(1+greed)-1000 {
			t.Errorf("%d tenants: one more gets %d bytes, want %d", tenants, got, part/(1+greed))
		}
	}
}

// TestOperatorsOfATenantShareItsPart: a second one gets nothing of what the first one has taken, until that gives it back or ends.
func TestOperatorsOfATenantShareItsPart(t *testing.T) {
	budget := NewBudget(3000)
	tenant := &Tenant{Budget: budget}
	first, second := NewCharge(tenant), NewCharge(tenant)
	if got := fill(first); got != 2000 {
		t.Errorf("got %d bytes", got)
	}
	err := second.Take(1 << 20)
	var scarce *BudgetError
	if !errors.As(err, &scarce) || *scarce != (BudgetError{Budget: 3000, Held: 2000, Left: 1000, Wanted: 1 << 20}) || !errors.Is(err, ErrLimit) {
		t.Errorf("got %v", err)
	}
	if text := "those of the namespace have 0.0 of 0.0 MiB, of which 0.0 are left, and 1.0 more were refused"; !strings.Contains(err.Error(), text) {
		t.Errorf("the error is %q", err)
	}
	first.Give(500)
	if got := fill(second); got != 500 {
		t.Errorf("the second one gets %d bytes", got)
	}
	if err := second.Force(700); !errors.As(err, &scarce) || second.Force(0) != nil {
		t.Errorf("memory that is in use: %v", err)
	}
	if used := budget.Used(); used != 2700 || tenant.Memory() != used {
		t.Errorf("%d bytes are used, %d of the tenant", used, tenant.Memory())
	}
	first.Close()
	first.Close()
	first.Give(100) // of what has not ended yet
	if err := first.Take(100); err != nil {
		t.Error(err)
	}
	if err := first.Force(100); err != nil {
		t.Error(err)
	}
	second.Close()
	if used := budget.Used(); used != 0 || tenant.Memory() != 0 {
		t.Errorf("%d bytes are used at the end, %d of the tenant", used, tenant.Memory())
	}
}

// TestNoBudget: where nothing is shared, nothing is counted or refused.
func TestNoBudget(t *testing.T) {
	for _, c := range []*Charge{nil, NewCharge(nil), NewCharge(&Tenant{})} {
		if err := c.Take(1 << 60); err != nil {
			t.Error(err)
		}
		if err := c.Force(1 << 60); err != nil {
			t.Error(err)
		}
		c.Give(1 << 60)
		c.Close()
		if held, refused := c.Memory(); held != 0 || refused != 0 {
			t.Errorf("%d bytes, %d refusals", held, refused)
		}
	}
}

// TestChargesAtOnce: nothing is lost or counted twice, also if operators end meanwhile.
func TestChargesAtOnce(t *testing.T) {
	budget := NewBudget(10_000)
	var all sync.WaitGroup
	for range 4 {
		tenant := &Tenant{Budget: budget}
		for range 4 {
			c := NewCharge(tenant)
			for worker := range 3 {
				all.Go(func() { // Waited for below.
					for i := range 2000 {
						if c.Take(7) == nil && i%2 == 0 {
							c.Give(7)
						}
						if used := budget.Used(); used > budget.Limit() {
							t.Errorf("%d bytes are used", used)
						}
					}
					if worker == 0 {
						c.Close()
					}
				})
			}
		}
	}
	all.Wait()
	if used := budget.Used(); used != 0 {
		t.Errorf("%d bytes are used at the end", used)
	}
}

// TestAccountsTakeOfTheBudget: twice what their values have, because of garbage.
func TestAccountsTakeOfTheBudget(t *testing.T) {
	budget := NewBudget(3000)
	a := New(Limits{})
	a.Charge = NewCharge(&Tenant{Budget: budget})
	for _, k := range []Kind{Memos, Reviews} {
		if err := a.Take(k, 1000); err != nil || budget.Used() != 2000 {
			t.Errorf("%v: %v, %d bytes are used", k, err, budget.Used())
		}
		if err := a.Take(k, 1); !errors.Is(err, ErrLimit) || used(a, k) != 1000 {
			t.Errorf("%v: got %v, and the account has %d bytes", k, err, used(a, k))
		}
		a.Give(k, 1000)
		if budget.Used() != 0 {
			t.Errorf("%v: %d bytes are used", k, budget.Used())
		}
	}
	if err := a.Take(Reviews, 2<<30); !errors.Is(err, ErrLimit) || budget.Used() != 0 {
		t.Errorf("got %v, and %d bytes are used", err, budget.Used())
	}
}

// TestReviewsWaitForTheBudget: for whatever gives back something.
func TestReviewsWaitForTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(Limits{})
		a.process, a.Charge = newProcess(1<<30), NewCharge(&Tenant{Budget: NewBudget(3000)})
		if err := a.Take(Memos, 900); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- a.Await(t.Context(), 500) }() // Waited for below.
		time.Sleep(time.Second)
		select {
		case err := <-ended:
			t.Errorf("it does not wait: %v", err)
		default:
		}
		a.Give(Memos, 900)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		a.Give(Reviews, 500)
	})
}

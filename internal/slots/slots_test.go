package slots_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/kopf-wasm/kopf/internal/slots"
)

// TestOwnersDoNotWaitForEachOther: one with many callers has half of the slots, and another one
// gets slots at once.
func TestOwnersDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := slots.New(4)
		got := make(chan int, 100)
		for range 100 {
			go func() {
				n, err := p.Take(t.Context(), "greedy", 1)
				if err == nil {
					got <- n
				}
			}()
		}
		synctest.Wait()
		if len(got) != 2 {
			t.Errorf("the greedy owner has %d slots", len(got))
		}
		if n, err := p.Take(t.Context(), "other", 3); n != 2 || err != nil {
			t.Errorf("the other one has %d, %v", n, err)
		}
		p.Give("greedy", 1)
		synctest.Wait()
		if len(got) != 3 {
			t.Errorf("%d callers of the greedy owner had slots", len(got))
		}
	})
}

// TestLargeCallersAreNotOvertaken: small ones wait behind a large one, and go on when it gives up.
func TestLargeCallersAreNotOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := slots.New(8)
		for _, owner := range []string{"a", "b"} {
			if n, err := p.Take(t.Context(), owner, 3); n != 3 || err != nil {
				t.Fatalf("%d, %v", n, err)
			}
		}
		gaveUp := errors.New("gave up")
		impatient, cancel := context.WithCancelCause(t.Context())
		large, small := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := p.Take(impatient, "c", 4)
			large <- err
		}()
		synctest.Wait()
		go func() {
			_, err := p.Take(t.Context(), "d", 1)
			small <- err
		}()
		synctest.Wait()
		if len(small) != 0 {
			t.Error("the small one has overtaken the large one")
		}
		cancel(gaveUp)
		if err := <-large; !errors.Is(err, gaveUp) {
			t.Errorf("the large one: %v", err)
		}
		if err := <-small; err != nil {
			t.Errorf("the small one: %v", err)
		}
		if n, err := p.Take(t.Context(), "c", 1); n != 1 || err != nil {
			t.Errorf("the last slot: %d, %v", n, err)
		}
	})
}

// TestOwnersTakeTurns: two owners with many callers, who may be one tenant, hold all slots. A third one gets the
// next slot that is free, and not the callers of the others who came before.
func TestOwnersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := slots.New(4)
		order := make(chan string, 1000)
		take := func(owner string, callers int) {
			for range callers {
				go func() {
					if _, err := p.Take(t.Context(), owner, 1); err == nil {
						order <- owner
					}
				}()
			}
			synctest.Wait()
		}
		free := func(owner string) (next string) {
			p.Give(owner, 1)
			synctest.Wait()
			return <-order
		}
		take("a", 100)
		take("b", 100)
		for range 4 {
			<-order
		}
		take("c", 100)
		take("d", 1)
		if got := free("a") + free("b") + free("a") + free("b"); got != "cdab" {
			t.Errorf("the turns are %s", got)
		}
		if got := free("d") + free("a") + free("c"); got != "cab" { // each of the three has at least one slot now
			t.Errorf("the turns are %s", got)
		}
	})
}

// TestCallersOfAnOwnerKeepTheirOrder: a large one is not overtaken by later small ones, which could
// be many, of the same owner.
func TestCallersOfAnOwnerKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := slots.New(8)
		if n, err := p.Take(t.Context(), "a", 3); n != 3 || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
		got := make(chan int, 2)
		for _, size := range []int{2, 1} {
			go func() {
				n, _ := p.Take(t.Context(), "a", size)
				got <- n
			}()
			synctest.Wait()
		}
		if len(got) != 0 {
			t.Errorf("%d slots were taken before those of the large one", <-got)
		}
		if n, err := p.Take(t.Context(), "b", 4); n != 4 || err != nil {
			t.Errorf("another owner has %d, %v", n, err)
		}
		p.Give("a", 3)
		synctest.Wait()
		if len(got) != 2 {
			t.Errorf("%d callers have slots", len(got))
		}
	})
}

package cores

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// rated makes a share of some cores that may compute for so long in each minute.
func rated(size int, rate time.Duration) *Share {
	s := &Share{owner: New(size, time.Now)}
	s.Change(0, rate)
	return s
}

// computes lets calls of a share compute in slices of a millisecond until the context ends, and
// returns the time that they have computed together.
func computes(ctx context.Context, s *Share, calls int) time.Duration {
	ends := make(chan time.Duration)
	for range calls {
		go func() { // Waited for below.
			var used time.Duration
			for ctx.Err() == nil && s.Enter(ctx) == nil {
				time.Sleep(time.Millisecond)
				used += time.Millisecond
				s.Leave()
			}
			ends <- used
		}()
	}
	var all time.Duration
	for range calls {
		all += <-ends
	}
	return all
}

// TestComputingTimeOfEachMinuteIsBounded: by the rate, after the rate at once; another share is not
// affected.
func TestComputingTimeOfEachMinuteIsBounded(t *testing.T) {
	for _, calls := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			limited := rated(2, 6*time.Second)
			other := &Share{owner: limited.owner, weight: DefaultWeight}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			ends := make(chan time.Duration)
			go func() { ends <- computes(ctx, other, 1) }() // Waited for below.
			used, want := computes(ctx, limited, calls), 66*time.Second
			if used < want-time.Second || used > want+time.Second {
				t.Errorf("%d calls have computed for %v in ten minutes, want %v", calls, used, want)
			}
			if free := <-ends; free < 9*time.Minute {
				t.Errorf("the other share has computed for %v", free)
			}
			if limited.Delayed() == 0 || other.Delayed() != 0 {
				t.Errorf("%d and %d calls were delayed", limited.Delayed(), other.Delayed())
			}
			synctest.Wait()
			if c := limited.owner; len(c.active) != 0 || c.free != 2 {
				t.Errorf("%d shares are active, %d cores are free", len(c.active), c.free)
			}
		})
	}
}

// TestCallsEndWithoutComputingTime: calls that wait for the rate end with their context, and the error
// names the limit. A call that had begun gets a core to end.
func TestCallsEndWithoutComputingTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := rated(1, time.Second)
		s.Take()
		time.Sleep(10 * time.Second) // a host function that is slow
		s.Leave()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := s.Enter(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the limit ComputeRate of 1s a minute is reached") {
			t.Errorf("a new call ends with: %v", err)
		}
		began := time.Now()
		if exhausted := s.Await(ctx, s.owner.ask(s)); exhausted == nil || time.Since(began) > 0 {
			t.Errorf("a call that had begun ends with %v after %v", exhausted, time.Since(began))
		}
		s.Leave()
		s.Take() // for a call that ends soon
		s.Leave()
		if time.Since(began) > 0 {
			t.Errorf("a call that ends soon has waited for %v", time.Since(began))
		}
		if err := s.Enter(t.Context()); err != nil || time.Since(began) < 8*time.Minute {
			t.Errorf("the next call: %v after %v", err, time.Since(began))
		}
		s.Leave()
	})
}

// TestChangedRates: what was used stays used, and no rate is no limit.
func TestChangedRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := rated(1, time.Minute)
		s.Take()
		time.Sleep(50 * time.Second)
		s.Leave() // 60 s more than this were there in the meantime, so a minute is left
		s.Change(0, 30*time.Second)
		if s.left != 30*time.Second {
			t.Errorf("%v are left of 30s", s.left)
		}
		s.Change(0, math.MaxInt64)
		s.Take()
		time.Sleep(time.Hour)
		s.Leave()
		if err := s.Enter(t.Context()); err != nil || s.Delayed() != 0 {
			t.Errorf("without a rate: %v, %d delayed", err, s.Delayed())
		}
		s.Leave()
	})
}

// TestWorkOfTheHostTakesTimeOfTheRate: what the host computes for an operator takes time of its rate, and waits for it.
func TestWorkOfTheHostTakesTimeOfTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := rated(2, 6*time.Second)
		other := &Share{owner: s.owner, weight: DefaultWeight}
		began := time.Now()
		for range 60 {
			s.Compute(t.Context(), func() { time.Sleep(time.Second) })
		}
		if took := time.Since(began); took < 8*time.Minute || s.Delayed() == 0 {
			t.Errorf("a minute of computing took %v with a tenth of a processor; %d pieces waited", took, s.Delayed())
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		began = time.Now()
		s.Compute(ended, func() {})
		other.Compute(t.Context(), func() {})
		if took := time.Since(began); took != 0 {
			t.Errorf("what has to end waited for %v", took)
		}
		if c := s.owner; c.free != 2 {
			t.Errorf("%d cores are free", c.free)
		}
	})
}

package host

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/cores"
)

// unshared is the share of tests that take cores without a module.
var unshared = cores.NewShare(0, 0)

func takeCore() { unshared.Take() }

func leaveCore() { unshared.Leave() }

// slicing is a call that computes for some slices, and then ends.
func slicing(t *testing.T, s *cores.Share, slices int, during func()) {
	now := time.Unix(0, 0)
	clock := func() time.Time {
		now = now.Add(2 * sliceOfCore)
		return now
	}
	b := newBudget(t.Context(), &Options{Clock: clock, Share: s, ComputeLimit: time.Hour}, now)
	b.queued = &queue{}
	s.Take()
	defer s.Leave()
	for range slices {
		during()
		b.yield()
	}
}

// TestCallsHaveTurns: calls that take a few slices each end one after the other. Each call that has begun needs an
// instance, so a burst of them would need as many instances as calls.
func TestCallsHaveTurns(t *testing.T) {
	s := cores.New(2, time.Now).NewShare(0, 0)
	var all sync.WaitGroup
	var begun, most atomic.Int64
	for range 200 {
		all.Go(func() {
			first := true
			slicing(t, s, turnOfCall/2, func() {
				if first {
					first = false
					n := begun.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
				}
			})
			begun.Add(-1)
		})
	}
	all.Wait()
	if most := most.Load(); most > 4 { // a call that has left its core may still be counted
		t.Errorf("%d calls had begun at once on 2 cores", most)
	}
}

// TestTurnsEnd: a call that computes for long keeps its core for a turn only, while another one of its share waits.
func TestTurnsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := cores.New(1, time.Now).NewShare(0, 0)
		var other sync.WaitGroup
		var begun atomic.Bool
		before := 0
		slicing(t, s, 5*turnOfCall, func() {
			if before == 0 {
				other.Go(func() { slicing(t, s, 1, func() { begun.Store(true) }) })
				synctest.Wait() // until it waits for the core
			}
			if !begun.Load() {
				before++
			}
		})
		other.Wait()
		if before > turnOfCall {
			t.Errorf("the other call had no core for %d slices, want %d at most", before, turnOfCall)
		}
	})
}

// TestGuestsWaitForTheirRate: a guest that spins is stopped by the end of its context while it waits, and
// its neighbour continues.
func TestGuestsWaitForTheirRate(t *testing.T) {
	m := loadGo(t, Options{ComputeLimit: time.Hour, Share: NewShare(0, time.Second)})
	share := m.options.Share
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ends := make(chan error)
	go func() { // Waited for below.
		_, _, err := m.Start(ctx, invoke("spin"), nil, &testEnv{})
		ends <- err
	}()
	for share.Delayed() == 0 {
		time.Sleep(time.Millisecond)
	}
	neighbour := loadGo(t, Options{})
	if got := result(t, neighbour, "count", &testEnv{}); got != "1" {
		t.Errorf("the neighbour counts %s", got)
	}
	cancel()
	if err := <-ends; !errors.Is(err, abi.ErrGuest) || !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
}

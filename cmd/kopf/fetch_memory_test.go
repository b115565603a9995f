package main

import (
	"context"
	"errors"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/kopf-wasm/kopf/operator"
)

// TestFetchesShareMemory: more fetches than the memory has room for wait for their turn, and
// those that give up leave nothing behind.
func TestFetchesShareMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newFetchMemory(4 * maxHosted)
		held := make([]int, 4)
		for i := range held {
			units, err := m.take(t.Context(), maxHosted)
			if err != nil || units != maxHosted/memoryUnit {
				t.Fatalf("%d units, %v", units, err)
			}
			held[i] = units
		}
		var small atomic.Int64
		impatient, cancel := context.WithCancelCause(t.Context())
		gaveUp := errors.New("gave up")
		go func() {
			if _, err := m.take(impatient, 3*maxHosted); !errors.Is(err, gaveUp) {
				t.Errorf("a fetch that gave up: %v", err)
			}
		}()
		synctest.Wait()
		for range 10 {
			go func() {
				units, err := m.take(t.Context(), 1)
				if err != nil || units != 1 {
					t.Errorf("%d units, %v", units, err)
				}
				small.Add(1)
			}()
		}
		synctest.Wait()
		m.give(held[0])
		synctest.Wait()
		if n := small.Load(); n != 0 {
			t.Errorf("%d fetches overtake a large one", n)
		}
		cancel(gaveUp)
		synctest.Wait()
		if n, used := small.Load(), len(m.used); n != 10 || used != 3*maxHosted/memoryUnit+10 {
			t.Errorf("%d small fetches, %d units used", n, used)
		}
	})
}

// TestRegistriesArePublic: names that declarations choose do not lead to the host's machine,
// its cloud or its network.
func TestRegistriesArePublic(t *testing.T) {
	for address, allowed := range map[string]bool{
		"140.82.112.33": true, "2606:50c0:8000::153": true,
		"127.0.0.1": false, "::ffff:127.0.0.1": false, "10.1.2.3": false, "192.168.1.1": false, "169.254.169.254": false, "fd00::1": false, "::1": false,
	} {
		if err := checkAddress("registry.example.com", netip.MustParseAddr(address)); (err == nil) != allowed || err != nil && !errors.Is(err, operator.ErrNotPublic) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

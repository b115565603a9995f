package main

import (
	"context"
	"errors"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/kopf-wasm/kopf/artifacts/modules"
	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/internal/panics"
	"github.com/kopf-wasm/kopf/operator"
)

// TestFetchesShareMemory: more fetches than the memory has room for wait for their turn, and
// those that give up leave nothing behind. No tenant waits for the fetches of another one.
func TestFetchesShareMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const unit = maxHosted / memoryUnit
		m := newFetchMemory(8 * maxHosted)
		take := func(owner string) {
			units, err := m.take(t.Context(), owner, maxHosted)
			if err != nil || units != unit {
				t.Fatalf("%d units, %v", units, err)
			}
		}
		for range 4 {
			take("greedy")
		}
		impatient, cancel := context.WithCancelCause(t.Context())
		gaveUp := errors.New("gave up")
		go func() {
			if _, err := m.take(impatient, "greedy", maxHosted); !errors.Is(err, gaveUp) {
				t.Errorf("a fetch that gave up: %v", err)
			}
		}()
		synctest.Wait()
		for range 3 { // at once
			take("other")
		}
		go func() {
			if _, err := m.take(impatient, "third", 2*maxHosted); !errors.Is(err, gaveUp) {
				t.Errorf("a fetch that gave up: %v", err)
			}
		}()
		synctest.Wait()
		var small atomic.Int64
		for range 10 {
			go func() {
				units, err := m.take(t.Context(), "fourth", 1)
				if err != nil || units != 1 {
					t.Errorf("%d units, %v", units, err)
				}
				small.Add(1)
			}()
		}
		synctest.Wait()
		if n := small.Load(); n != 0 {
			t.Errorf("%d fetches overtake a large one", n)
		}
		cancel(gaveUp)
		synctest.Wait()
		if n := small.Load(); n != 10 {
			t.Errorf("%d small fetches", n)
		}
		m.give("other", 3*unit)
		m.give("greedy", 4*unit)
		m.give("fourth", 10)
		for range 4 { // all of it is free
			take("one")
			take("another")
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

// TestDefectsLeaveNoFetchMemory: a panic of the host about what a registry says leaves nothing of the memory occupied, for which others
// would wait for ever.
func TestDefectsLeaveNoFetchMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newFetchMemory(2 * documentMemory)
		for range 2 {
			var err error
			func() {
				defer panics.Recover(&err)
				finder := &modules.Finder{Verify: func(context.Context, oci.Reference) error { panic("about the signatures") }}
				_, _ = (&reservation{memory: m, owner: "one"}).fetch(t.Context(), finder, oci.Reference{})
			}()
			if panics.StackOf(err) == "" {
				t.Fatalf("no panic: %v", err)
			}
		}
		if _, err := m.take(t.Context(), "one", documentMemory); err != nil {
			t.Error(err)
		}
	})
}

package collector

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestPercentFor(t *testing.T) {
	for _, tt := range []struct {
		live           uint64
		usual, listing int
	}{
		{0, 300, 200}, {1 << 20, 300, 200}, {4 << 20, 300, 200}, {6 << 20, 200, 133}, {12 << 20, 100, 66}, {20 << 20, 100, 40}, {40 << 20, 100, 20}, {1 << 30, 100, 20},
	} {
		if got := percentFor(tt.live, garbageRoom, usualPercent); got != tt.usual {
			t.Errorf("%d bytes: %d, want %d", tt.live, got, tt.usual)
		}
		if got := percentFor(tt.live, listingRoom, leastPercent); got != tt.listing {
			t.Errorf("%d bytes in listings: %d, want %d", tt.live, got, tt.listing)
		}
	}
}

// What a process allocates in a second decides, unless it collects within a second, as in a burst.
func TestPace(t *testing.T) {
	begin := time.Now()
	for _, tt := range []struct {
		since time.Duration
		bytes uint64
		want  int
	}{
		{time.Minute, 0, 25},
		{10 * time.Second, 12 << 20, 25},
		{10 * time.Second, 25 << 20, 50},
		{2 * time.Second, 9 << 20, 90},
		{10 * time.Second, 1 << 30, 100},
		{time.Millisecond, 0, 100},
	} {
		var p pacing
		if p.collect(begin, 5<<30); p.pace != usualPercent {
			t.Errorf("after the first collection: %d, want %d", p.pace, usualPercent)
		}
		if p.collect(begin.Add(tt.since), 5<<30+tt.bytes); p.pace != tt.want {
			t.Errorf("%d bytes in %v: %d, want %d", tt.bytes, tt.since, p.pace, tt.want)
		}
	}
}

// Only large heaps are worth it.
func TestSlowProcesses(t *testing.T) {
	t.Setenv("GOGC", "")
	usual(t)
	slow := func() bool {
		state.Lock()
		state.collected = state.collected.Add(-time.Minute) // as if the collection before had been long ago
		state.Unlock()
		return percent() == slowPercent
	}
	held := make([]byte, 2*slowLeast)
	collectUntil(t, func() bool { return slow() })
	runtime.KeepAlive(held)
	collectUntil(t, func() bool { return !slow() })
}

// The percentage is higher until the first collection, and the default after it.
func TestFirstCollectionIsPostponed(t *testing.T) {
	t.Setenv("GOGC", "")
	postpone()
	if got := percent(); got != 300 {
		t.Errorf("before the first collection, the percentage is %d, want 300", got)
	}
	collectUntil(t, func() bool { return percent() == usualPercent })
}

// The percentage follows the memory in use, and is the default at the end.
func TestCollectorFollowsMemoryInUse(t *testing.T) {
	t.Setenv("GOGC", "")
	usual(t)
	end := Relax(t.Context())
	t.Cleanup(end)
	collectUntil(t, func() bool { return percent() != usualPercent })
	if end(); percent() != usualPercent {
		t.Errorf("at the end, the percentage is %d", percent())
	}
}

// The first collection does not end a relaxed phase that has begun before it.
func TestRelaxedPhaseOutlivesStart(t *testing.T) {
	t.Setenv("GOGC", "")
	usual(t)
	postpone()
	end := Relax(t.Context())
	t.Cleanup(end)
	for range 5 {
		runtime.GC()
	}
	collectUntil(t, func() bool { return percent() != usualPercent })
}

// With a large heap, the percentage is low from the beginning of the first listing until the end of the last one.
func TestListingsBoundGarbage(t *testing.T) {
	t.Setenv("GOGC", "")
	usual(t)
	held := make([]byte, 48<<20)
	runtime.GC()
	one := Bound()
	t.Cleanup(one)
	low := func() bool { return percent() <= 25 }
	if !low() {
		t.Errorf("in a listing, the percentage is %d", percent())
	}
	another := Bound()
	t.Cleanup(another)
	one()
	one() // does nothing
	if !low() {
		t.Errorf("in another listing, the percentage is %d", percent())
	}
	runtime.KeepAlive(held)
	collectUntil(t, func() bool { return percent() > usualPercent }) // as little is in use
	if another(); percent() != usualPercent {
		t.Errorf("after the listings, the percentage is %d", percent())
	}
}

// A listing does not end the phase with reviews, which continues after it.
func TestRelaxedPhaseOutlivesListings(t *testing.T) {
	t.Setenv("GOGC", "")
	usual(t)
	end := Relax(t.Context())
	t.Cleanup(end)
	Bound()()
	collectUntil(t, func() bool { return percent() > usualPercent })
}

// Who limits the memory or sets the percentage has decided.
func TestListingsRespectTheEnvironment(t *testing.T) {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		t.Run(name, func(t *testing.T) {
			usual(t)
			t.Setenv("GOGC", "")
			t.Setenv(name, "500000000")
			held := make([]byte, 48<<20)
			runtime.GC()
			defer Bound()()
			runtime.GC()
			if percent() != usualPercent {
				t.Errorf("the percentage is %d", percent())
			}
			runtime.KeepAlive(held)
		})
	}
}

func TestCollectorRespectsGOGC(t *testing.T) {
	usual(t)
	t.Setenv("GOGC", "150")
	postpone()
	defer Relax(t.Context())()
	runtime.GC()
	if percent() != usualPercent {
		t.Errorf("the percentage is %d", percent())
	}
}

// usual returns when the start of the program is over: the percentage is the default.
func usual(t *testing.T) {
	t.Helper()
	collectUntil(t, func() bool { return percent() == usualPercent })
}

// collectUntil collects garbage until a condition holds.
func collectUntil(t *testing.T, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); runtime.Gosched() {
		if runtime.GC(); time.Now().After(deadline) {
			t.Fatalf("the percentage remains %d", percent())
		}
	}
}

// percent is the current percentage. It is read by setting another one, so no change may come in between.
func percent() int {
	state.Lock()
	defer state.Unlock()
	now := debug.SetGCPercent(usualPercent)
	debug.SetGCPercent(now)
	return now
}

package collector

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestPercentFor(t *testing.T) {
	for _, tt := range []struct {
		live uint64
		want int
	}{{0, 300}, {1 << 20, 300}, {4 << 20, 300}, {6 << 20, 200}, {12 << 20, 100}, {1 << 30, 100}} {
		if got := percentFor(tt.live); got != tt.want {
			t.Errorf("%d bytes: %d, want %d", tt.live, got, tt.want)
		}
	}
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

// percent is the current percentage.
func percent() int {
	now := debug.SetGCPercent(usualPercent)
	debug.SetGCPercent(now)
	return now
}

package main

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

// The percentage follows the memory in use, and is the default at the end.
func TestCollectorFollowsMemoryInUse(t *testing.T) {
	t.Setenv("GOGC", "")
	end := relaxCollector(t.Context())
	t.Cleanup(end)
	for deadline := time.Now().Add(time.Minute); percent() == usualPercent; runtime.Gosched() {
		if runtime.GC(); time.Now().After(deadline) {
			t.Fatal("the percentage does not change")
		}
	}
	if end(); percent() != usualPercent {
		t.Errorf("at the end, the percentage is %d", percent())
	}
}

func TestCollectorRespectsGOGC(t *testing.T) {
	t.Setenv("GOGC", "150")
	defer relaxCollector(t.Context())()
	runtime.GC()
	if percent() != usualPercent {
		t.Errorf("the percentage is %d", percent())
	}
}

// percent is the current percentage.
func percent() int {
	now := debug.SetGCPercent(usualPercent)
	debug.SetGCPercent(now)
	return now
}

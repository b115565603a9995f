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

// The percentage follows what is in use, and is the usual one in the end.
func TestGiveRoom(t *testing.T) {
	t.Setenv("GOGC", "")
	end := relaxCollector(t.Context())
	t.Cleanup(end)
	for deadline := time.Now().Add(time.Minute); percent() == usualPercent; runtime.Gosched() {
		if runtime.GC(); time.Now().After(deadline) {
			t.Fatal("the percentage stays")
		}
	}
	if end(); percent() != usualPercent {
		t.Errorf("in the end, it is %d", percent())
	}
}

func TestGiveRoomUnlessToldOtherwise(t *testing.T) {
	t.Setenv("GOGC", "150")
	defer relaxCollector(t.Context())()
	runtime.GC()
	if percent() != usualPercent {
		t.Errorf("it is %d", percent())
	}
}

// percent is the present one.
func percent() int {
	now := debug.SetGCPercent(usualPercent)
	debug.SetGCPercent(now)
	return now
}

package loops_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/reactor/loops"
)

// TestChainsAreSlowedDownToTheRate: a chain begins with a burst, and then has the rate.
func TestChainsAreSlowedDownToTheRate(t *testing.T) {
	l := loops.New(30)
	var c *loops.Chain
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now, calls := begin, 0
	for now.Sub(begin) < 10*time.Minute {
		if pause := l.Pause(c, now); pause > 0 {
			l.Report(c, "things ns/a", now)
			now = now.Add(pause)
			c.Paused()
		}
		if pause := l.Pause(c, now); pause > 0 {
			t.Fatalf("the next call waits again for %v", pause)
		}
		c = l.Continue(c, "fn", now)
		calls++
		now = now.Add(10 * time.Millisecond)
	}
	if calls < 329 || calls > 331 {
		t.Errorf("%d calls in 10 minutes, want 30 at once and 30 a minute", calls)
	}
	got := l.Loops(now)
	if len(got) != 1 || got[0].Handler != "fn" || got[0].Rate < 6000 || !strings.Contains(got[0].String(), "things ns/a") {
		t.Errorf("the loops are %v", got)
	}
	if got := l.Loops(now.Add(2 * time.Minute)); len(got) != 0 {
		t.Errorf("the loops are %v after they have ended", got)
	}
}

// TestSlowChainsNeverWait: they need no limit.
func TestSlowChainsNeverWait(t *testing.T) {
	l := loops.New(30)
	var c *loops.Chain
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for range 1000 {
		if pause := l.Pause(c, now); pause > 0 {
			t.Fatalf("a call waits for %v", pause)
		}
		c = l.Continue(c, "fn", now)
		now = now.Add(2 * time.Second)
	}
}

// TestRememberedLoopsAreBounded: an operator that triggers itself with many objects takes no
// more memory.
func TestRememberedLoopsAreBounded(t *testing.T) {
	l := loops.New(1)
	now := time.Now()
	for i := range 1000 {
		l.Report(l.Continue(nil, "fn", now), fmt.Sprint("things ns/", i), now)
	}
	if n := len(l.Loops(now)); n != 100 {
		t.Errorf("%d loops are remembered", n)
	}
}

// TestNoLimit: operators that are not hosted behave as in Kopf.
func TestNoLimit(t *testing.T) {
	l := loops.New(0)
	c := l.Continue(nil, "fn", time.Now())
	if c != nil || l.Pause(c, time.Now()) != 0 || l.Loops(time.Now()) != nil {
		t.Error("a limiter without a rate limits")
	}
}

package stoppers

import (
	"testing"
	"time"
)

// TestForgottenWaitsHaveNoTimer: the timer of a long wait would keep its daemon in memory.
func TestForgottenWaitsHaveNoTimer(t *testing.T) {
	s := New()
	n := s.Await(new(time.Hour), AnyReason, func() {})
	if !s.Forget(n) || n.timer.Stop() {
		t.Error("the timer still runs")
	}
}

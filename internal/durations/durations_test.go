package durations_test

import (
	"math"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/internal/durations"
)

// TestSeconds checks that more seconds never give a shorter duration.
func TestSeconds(t *testing.T) {
	for _, test := range []struct {
		seconds float64
		want    time.Duration
	}{
		{0, 0},
		{1.5, 1500 * time.Millisecond},
		{-2, -2 * time.Second},
		{86400, 24 * time.Hour},
		{1e10, durations.Century},
		{1e300, durations.Century},
		{math.Inf(1), durations.Century},
		{-1e300, -durations.Century},
		{math.NaN(), 0},
	} {
		if got := durations.Seconds(test.seconds); got != test.want {
			t.Errorf("Seconds(%v) = %v, want %v", test.seconds, got, test.want)
		}
	}
	if durations.Seconds(1e300)+durations.Seconds(1e300) < 0 {
		t.Error("the sum of two is negative")
	}
}

package clients

import (
	"testing"
	"time"
)

func TestParseRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := []struct {
		text string
		want time.Duration
		ok   bool
	}{
		{"", 0, false},
		{"1", time.Second, true},
		{"0", 0, true},
		{"1.5", 1500 * time.Millisecond, true},
		{"-1", 0, false},
		{"NaN", 0, false},
		{"-Inf", 0, false},
		{"Inf", maxRetryAfter, true},
		{"1e300", maxRetryAfter, true},
		{"999999999999", maxRetryAfter, true},
		{"Fri, 02 Jan 2026 03:04:35 GMT", 30 * time.Second, true},
		{"Fri, 02 Jan 2026 03:04:04 GMT", 0, false},
		{"Fri, 02 Jan 2099 03:04:04 GMT", maxRetryAfter, true},
		{"soon", 0, false},
	}
	for _, tt := range tests {
		if got, ok := parseRetryAfter(tt.text, now); got != tt.want || ok != tt.ok {
			t.Errorf("%q: %v, %t; want %v, %t", tt.text, got, ok, tt.want, tt.ok)
		}
	}
}

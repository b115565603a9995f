package main

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestMedian(t *testing.T) {
	tests := []struct {
		name   string
		values []float64
		want   float64
	}{
		{"odd", []float64{3, 1, 2}, 2},
		{"even", []float64{4, 1, 3, 2}, 2.5},
		{"one", []float64{7}, 7},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := median(tt.values); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	if got := median(nil); !math.IsNaN(got) {
		t.Errorf("of nothing: got %v, want NaN", got)
	}
}

func TestPercentile(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(i + 1)
	}
	tests := []struct {
		name   string
		values []float64
		part   float64
		want   float64
	}{
		{"99 of 100", hundred, 0.99, 99},
		{"half of 100", hundred, 0.5, 50},
		{"99 of 3", hundred[:3], 0.99, 3},
		{"0", hundred, 0, 1},
		{"all", hundred, 1, 100},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := percentile(tt.values, tt.part); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// An object that is seen before the response of its creation took no time.
func TestLatencies(t *testing.T) {
	start := time.Now()
	after := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	to := []time.Time{after(30), after(15), after(10)}
	got := latencies([]time.Time{after(0), after(5), after(20)}, func(i int) time.Time { return to[i] })
	if diff := cmp.Diff([]float64{0, 10, 30}, got); diff != "" {
		t.Errorf("latencies (-want +got):\n%s", diff)
	}
}

func TestPhaseTimes(t *testing.T) {
	start := time.Now()
	after := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	p := phase{scenario: burst, objects: 2}
	got := p.times(start, []time.Time{after(100), after(200)}, map[string]time.Time{
		objectName(0): after(150), objectName(1): after(500),
	})
	want := map[figure]float64{perSecond: 4, p50: 50, p99: 300}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}

// Package meters counts what an operator does: the calls of its handlers, its requests to the
// API server, and how long events wait. Recording takes a few atomic operations, no lock and no
// memory, except for the first call of a handler for a reason. The number of meters is bounded,
// whatever the guests register or do.
//
// See docs/monitoring.md.
package meters

import (
	"sync/atomic"
	"time"
)

// bounds are the upper bounds of the buckets of all histograms: from a handler that only
// computes to one that waits for another system.
var bounds = [...]time.Duration{
	time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond,
	5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute,
}

// sumUnit is the unit of the sum of a histogram: it overflows after 29,000 years.
const sumUnit = 100 * time.Nanosecond

// Histogram counts durations in fixed buckets. The zero value is empty, and a nil Histogram
// counts nothing. It is safe for concurrent use.
type Histogram struct {
	buckets [len(bounds) + 1]atomic.Uint64 // the last one has no bound
	sum     atomic.Int64                   // in sumUnit
}

// Observe counts a duration. A negative one counts as zero.
func (h *Histogram) Observe(d time.Duration) {
	if h == nil {
		return
	}
	d = max(d, 0)
	i := 0
	for i < len(bounds) && d > bounds[i] {
		i++
	}
	h.buckets[i].Add(1)
	h.sum.Add(int64(d / sumUnit))
}

// Read returns what the histogram has counted.
func (h *Histogram) Read() Distribution {
	var d Distribution
	if h == nil {
		return d
	}
	for i := range h.buckets {
		d.counts[i] = h.buckets[i].Load()
	}
	d.sum = h.sum.Load()
	return d
}

// Distribution is what a Histogram has counted.
type Distribution struct {
	counts [len(bounds) + 1]uint64
	sum    int64 // in sumUnit
}

// Add returns the sum of two distributions.
func (d Distribution) Add(other Distribution) Distribution {
	for i := range d.counts {
		d.counts[i] += other.counts[i]
	}
	d.sum += other.sum
	return d
}

// Count returns how many durations were counted.
func (d Distribution) Count() uint64 {
	var count uint64
	for _, n := range d.counts {
		count += n
	}
	return count
}

// Seconds returns the sum of the durations.
func (d Distribution) Seconds() float64 { return float64(d.sum) * sumUnit.Seconds() }

// Buckets returns how many durations are at most as long as each bound, which is in seconds.
func (d Distribution) Buckets() map[float64]uint64 {
	all := make(map[float64]uint64, len(bounds))
	var count uint64
	for i, bound := range bounds {
		count += d.counts[i]
		all[bound.Seconds()] = count
	}
	return all
}

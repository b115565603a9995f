// Package durations converts the seconds of guests, options and objects, which are any
// numbers, into durations.
package durations

import (
	"math"
	"time"
)

// Century is the longest duration that anybody may ask for, and stands for an endless one.
const Century = 100 * 365 * 24 * time.Hour

// Seconds converts seconds into a duration of at most one century in either direction, so
// that the sum of two durations does not overflow. NaN is zero.
func Seconds(n float64) time.Duration {
	switch {
	case n >= Century.Seconds():
		return Century
	case n <= -Century.Seconds():
		return -Century
	case math.IsNaN(n):
		return 0
	}
	return time.Duration(n * float64(time.Second))
}

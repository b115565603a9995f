//go:build race

package boundedtest

// These are the factors by which the race detector may enlarge what is allocated, and the time.
//
// Source: https://go.dev/doc/articles/race_detector (Runtime Overhead)
const (
	slack    = 2
	slowness = 20
)

//go:build race

package boundedtest

// slack is the factor by which the race detector may enlarge what is allocated.
const slack = 2

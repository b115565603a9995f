//go:build !race

package boundedtest

// slack and slowness are 1: allocations and times are those of the program.
const (
	slack    = 1
	slowness = 1
)

//go:build !race

package boundedtest

// slack is 1: allocations are those of the program.
const slack = 1

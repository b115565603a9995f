// Package boundedtest measures the memory and time of parsers of untrusted data.
package boundedtest

import (
	"runtime"
	"testing"
	"time"
)

// Limits of a parser: total allocated memory, and time. The time is generous, so that a slow
// or busy machine does not fail.
const (
	bytesPerByte = 16
	bytesInAll   = 64 << 20
	timeInAll    = 30 * time.Second
)

// Parse calls a parser with an input, and fails the test if the parser allocates more than 16 times
// the size of the input and 64 MiB, garbage included, or takes longer than half a minute.
func Parse(t *testing.T, name string, input []byte, parse func(input []byte) error) {
	t.Helper()
	began := time.Now()
	var err error
	allocated := Allocated(func() { err = parse(input) })
	took, limit := time.Since(began), slack*(bytesPerByte*len(input)+bytesInAll)
	if allocated > limit {
		t.Errorf("%s: %d KiB allocate %d MiB, at most %d: error %.200v", name, len(input)>>10, allocated>>20, limit>>20, err)
	}
	if took > slowness*timeInAll {
		t.Errorf("%s: %d KiB take %v", name, len(input)>>10, took)
	}
	t.Logf("%s: %d KiB allocate %d MiB in %v: error %.200v", name, len(input)>>10, allocated>>20, took.Round(time.Millisecond), err)
}

// Allocated returns how much memory a function allocates, garbage included, in bytes. What else
// runs meanwhile counts, too.
func Allocated(do func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// InUse returns the size of all objects of the process that are in use, in bytes.
func InUse() int {
	runtime.GC()
	runtime.GC() // what cleanups have let go
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc) //nolint:gosec // less than the memory of the machine
}

// Package heaptest measures memory, for tests.
package heaptest

import "runtime"

// InUse collects garbage, and returns the bytes of the heap that are in use then.
func InUse() int {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc) //nolint:gosec // less than the memory of the machine
}

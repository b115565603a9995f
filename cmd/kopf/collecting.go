package main

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// elbowRoom is how much garbage may come together, in bytes, before it is collected.
const elbowRoom = 12 << 20

// leastHeap is what the collector begins with, in bytes, however little is in use.
const leastHeap = 4 << 20

// usualPercent is the garbage that Go lets come together, in per cent of what is in use.
const usualPercent = 100

// relaxCollector lets the collector run less often while little memory is in use: an operator
// that answers reviews holds a few megabytes, and so would collect dozens of times in a
// second, while reviews wait. It ends with the context, and does nothing if whoever runs
// the program has set GOGC.
func relaxCollector(ctx context.Context) (end func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	var mu sync.Mutex // held while the percentage is changed
	ctx, cancel := context.WithCancel(ctx)
	afterCollections(ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() == nil {
			debug.SetGCPercent(percentFor(inUse()))
		}
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		cancel()
		debug.SetGCPercent(usualPercent)
	}
}

// percentFor is the garbage to be let come together, in per cent of the bytes in use.
func percentFor(live uint64) int {
	return int(max(usualPercent, elbowRoom*100/max(live, leastHeap)))
}

// inUse is how many bytes the collector takes for in use: of the heap, as the latest
// collection has found, and what it begins with.
func inUse() (bytes uint64) {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/globals:bytes"}, {Name: "/gc/scan/stack:bytes"}}
	metrics.Read(samples)
	for _, sample := range samples {
		bytes += sample.Value.Uint64()
	}
	return bytes
}

// afterCollections calls a function soon after each collection, until the context ends:
// what nobody holds is found by each of them.
func afterCollections(ctx context.Context, do func()) {
	type nothing struct{ _ *nothing } // with a pointer, so that it is allocated alone
	runtime.AddCleanup(&nothing{}, func(do func()) {
		if do(); ctx.Err() == nil {
			afterCollections(ctx, do)
		}
	}, do)
}

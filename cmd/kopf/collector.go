package main

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// garbageRoom is the amount of garbage that may accumulate before a collection, in bytes.
const garbageRoom = 12 << 20

// minHeap is the minimum heap size of the collector, in bytes.
const minHeap = 4 << 20

// usualPercent is Go's default for garbage between collections, in per cent of the memory in
// use.
const usualPercent = 100

// relaxCollector makes garbage collections less frequent while little memory is in use. An
// operator that answers reviews uses a few megabytes, and would otherwise collect dozens of
// times per second while reviews wait. It ends with the context. It does nothing if GOGC is
// set in the environment.
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

// percentFor returns the garbage percentage for an amount of memory in use, in bytes.
func percentFor(live uint64) int {
	return int(max(usualPercent, garbageRoom*100/max(live, minHeap)))
}

// inUse is the memory in use according to the collector, in bytes: the heap after the latest
// collection, and the minimum heap size.
func inUse() (bytes uint64) {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/globals:bytes"}, {Name: "/gc/scan/stack:bytes"}}
	metrics.Read(samples)
	for _, sample := range samples {
		bytes += sample.Value.Uint64()
	}
	return bytes
}

// afterCollections calls a function soon after each collection, until the context ends. Each
// collection finds an unreferenced object, whose cleanup makes the call.
func afterCollections(ctx context.Context, do func()) {
	type nothing struct{ _ *nothing } // with a pointer, so that it is allocated alone
	runtime.AddCleanup(&nothing{}, func(do func()) {
		if do(); ctx.Err() == nil {
			afterCollections(ctx, do)
		}
	}, do)
}

// Package collector sets how often the garbage collector of the program runs: not while the
// program starts, and less often while an operator answers reviews. It changes nothing if GOGC
// is set in the environment.
//
// Go initialises packages in the order of their import paths, as far as their imports
// allow. This package imports little, so it is initialised before most libraries:
// TestCollectorIsEarly.
//
// See RATIONALE.md, "Why does the program start without collecting garbage?" and "Why is garbage
// collected less often by `kopf run` with a server of webhooks?"
package collector

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

// percentage guards the collector's percentage, which belongs to the process.
var percentage struct { //nolint:gochecknoglobals // see above
	sync.Mutex
	relaxed bool // between Relax and its end
}

func init() { postpone() }

// postpone delays the first collection until the heap has garbageRoom: the libraries alone
// bring it to minHeap while they are initialised, and little of that is garbage. Afterwards,
// the percentage is the usual one.
func postpone() {
	if isSet() {
		return
	}
	debug.SetGCPercent(percentFor(minHeap))
	afterCollection(func() {
		percentage.Lock()
		defer percentage.Unlock()
		if !percentage.relaxed {
			debug.SetGCPercent(usualPercent)
		}
	})
}

// isSet reports whether the environment has a percentage.
func isSet() bool { return os.Getenv("GOGC") != "" }

// Relax makes garbage collections less frequent while little memory is in use. An operator
// that answers reviews uses a few megabytes, and would otherwise collect dozens of times per
// second while reviews wait. It ends with the context, or by the returned function. Only one
// caller at a time may use it.
func Relax(ctx context.Context) (end func()) {
	if isSet() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	percentage.Lock()
	percentage.relaxed = true
	percentage.Unlock()
	afterCollections(ctx, func() {
		percentage.Lock()
		defer percentage.Unlock()
		if ctx.Err() == nil {
			debug.SetGCPercent(percentFor(inUse()))
		}
	})
	return func() {
		percentage.Lock()
		defer percentage.Unlock()
		cancel()
		percentage.relaxed = false
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

// afterCollections calls a function soon after each collection, until the context ends.
func afterCollections(ctx context.Context, do func()) {
	afterCollection(func() {
		if do(); ctx.Err() == nil {
			afterCollections(ctx, do)
		}
	})
}

// afterCollection calls a function soon after the next collection, which finds an unreferenced
// object, whose cleanup makes the call.
func afterCollection(do func()) {
	type nothing struct{ _ *nothing } // with a pointer, so that it is allocated alone
	runtime.AddCleanup(&nothing{}, func(do func()) { do() }, do)
}

// Package collector sets how often the garbage collector of the program runs: not while the
// program starts, less often while an operator answers reviews, and more often while it lists
// many objects, or allocates little. It changes nothing if GOGC is set in the environment.
//
// Go initialises packages in the order of their import paths, as far as their imports
// allow. This package imports little, so it is initialised before most libraries:
// TestCollectorIsEarly.
//
// See RATIONALE.md, "Why does the program start without collecting garbage?", "Why is garbage
// collected less often by `kopf run` with a server of webhooks?", "Why is garbage collected
// more often while objects are listed?" and "Why is garbage collected more often while little is
// allocated?"
package collector

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// These are the amounts of garbage that may accumulate before a collection, in bytes.
const (
	garbageRoom = 12 << 20
	listingRoom = 8 << 20 // in listings
)

// minHeap is the minimum heap size of the collector, in bytes.
const minHeap = 4 << 20

// usualPercent is Go's default for garbage between collections, in per cent of the memory in
// use.
const usualPercent = 100

// leastPercent is the percentage of large heaps during listings. It bounds the cost of
// collections: for each megabyte of garbage, at most five megabytes are looked at.
const leastPercent = 20

// The percentage of a process that allocates little is so low that the collector looks at
// slowRate bytes per second, which takes half a percent of a processor, but not below
// slowPercent. Collections within fastTime are those of a burst. With less than slowLeast bytes in
// use, there is little to save, and the next burst would collect once more at its begin.
const (
	slowRate    = 5 << 20
	slowPercent = 25
	slowLeast   = 16 << 20
	fastTime    = time.Second
)

// state guards the collector's percentage, which belongs to the process.
var state struct { //nolint:gochecknoglobals // see above
	sync.Mutex
	relaxed  bool // between Relax and its end
	listings int  // between Bound and its end

	percent int // as it was set last
	pacing
}

// pacing is how fast the process allocates.
type pacing struct {
	collected time.Time // when the last collection was noticed
	allocated uint64    // bytes that the process had allocated by then
	pace      int       // the percentage for what it has allocated since the collection before
}

func init() { postpone() }

// postpone delays the first collection until the heap has garbageRoom: the libraries alone
// bring it to minHeap while they are initialised, and little of that is garbage. Afterwards,
// the percentage is computed after each collection.
func postpone() {
	if isSet("GOGC") {
		return
	}
	state.Lock()
	defer state.Unlock()
	state.pace = usualPercent
	set(percentFor(minHeap, garbageRoom, usualPercent))
	follow()
}

// isSet reports whether the environment has a variable.
func isSet(name string) bool { return os.Getenv(name) != "" }

// Relax makes garbage collections less frequent while little memory is in use. An operator
// that answers reviews uses a few megabytes, and would otherwise collect dozens of times per
// second while reviews wait. It ends with the context, or by the returned function. Only one
// caller at a time may use it.
func Relax(ctx context.Context) (end func()) {
	if isSet("GOGC") {
		return func() {}
	}
	state.Lock()
	defer state.Unlock()
	state.relaxed = true // from the next collection on
	end = sync.OnceFunc(func() {
		state.Lock()
		defer state.Unlock()
		state.relaxed = false
		adapt()
	})
	context.AfterFunc(ctx, end)
	return end
}

// Bound limits the garbage to an amount, or to a part of large heaps, while an operator lists
// many objects: the heap grows with the number of objects, and with the usual percentage, the
// garbage grows with it. It ends by the returned function. It changes nothing if GOMEMLIMIT is set
// in the environment.
func Bound() (end func()) {
	if isSet("GOGC") || isSet("GOMEMLIMIT") {
		return func() {}
	}
	change := func(listings int) {
		state.Lock()
		defer state.Unlock()
		before := state.listings
		if state.listings += listings; (before == 0) != (state.listings == 0) {
			adapt()
		}
	}
	change(1)
	return sync.OnceFunc(func() { change(-1) })
}

// follow computes the percentage again after each collection.
func follow() {
	afterCollection(func() {
		state.Lock()
		defer state.Unlock()
		state.collect(time.Now(), read("/gc/heap/allocs:bytes"))
		adapt()
		follow()
	})
}

// collect notices a collection, after the process has allocated so many bytes in all.
func (s *pacing) collect(now time.Time, allocated uint64) {
	since, bytes := now.Sub(s.collected), allocated-s.allocated
	if s.pace = usualPercent; !s.collected.IsZero() && since >= fastTime {
		s.pace = min(usualPercent, max(slowPercent, int(float64(bytes)/since.Seconds()/slowRate*100)))
	}
	s.collected, s.allocated = now, allocated
}

// adapt sets the percentage. The caller holds the mutex.
func adapt() {
	switch {
	case state.listings > 0:
		set(percentFor(inUse(), listingRoom, leastPercent))
	case state.relaxed:
		set(percentFor(inUse(), garbageRoom, usualPercent))
	case inUse() < slowLeast:
		set(usualPercent)
	default:
		set(state.pace)
	}
}

// set sets a percentage unless it is set already: that stops all goroutines for a moment. The caller holds the mutex.
func set(percent int) {
	if percent != state.percent {
		state.percent = percent
		debug.SetGCPercent(percent)
	}
}

// percentFor returns the percentage for an amount of memory in use and an amount of garbage, both in
// bytes. It is not below the least one.
func percentFor(live, room uint64, least int) int {
	return max(least, int(room*100/max(live, minHeap)))
}

// inUse is the memory in use according to the collector, in bytes: the heap after the latest
// collection, and the minimum heap size.
func inUse() (bytes uint64) {
	return read("/gc/heap/live:bytes", "/gc/scan/globals:bytes", "/gc/scan/stack:bytes")
}

// read adds up metrics of Go.
func read(names ...string) (sum uint64) {
	samples := make([]metrics.Sample, len(names))
	for i, name := range names {
		samples[i].Name = name
	}
	metrics.Read(samples)
	for _, sample := range samples {
		sum += sample.Value.Uint64()
	}
	return sum
}

// afterCollection calls a function soon after the next collection, which finds an unreferenced
// object, whose cleanup makes the call.
func afterCollection(do func()) {
	type nothing struct{ _ *nothing } // with a pointer, so that it is allocated alone
	runtime.AddCleanup(&nothing{}, func(do func()) { do() }, do)
}

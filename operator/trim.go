package operator

import (
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/internal/resident"
	"github.com/kopf-wasm/kopf/reactor/loggers"
)

// Conditions for returning memory to the system. The garbage collector alone would wait until the
// heap has doubled.
const (
	trimLook  = time.Second / 2
	trimQuiet = 256 << 10 // bytes that are allocated between two looks by a process without work
	trimLeast = 16 << 20  // bytes that were allocated since the last trim: fewer leave little garbage
	trimPause = 30 * time.Second

	// Those of a process in which an operator has started less than trimPause ago.
	trimLeastStarted = 1 << 20
	trimMuchStarted  = 64 << 20 // is not left until the process is idle: many may start one after another
	trimPauseStarted = 5 * time.Second

	// A trim takes one of so many parts of the time at most: it collects the whole heap, and authors
	// of hosted operators can cause many starts.
	trimShare      = 50
	trimShareQuiet = 10
)

// trimming decides when the process returns memory to the system: after a start, what loading took
// (several times the size of the modules); when the process is idle again, what listings or a burst
// of events took. After a listing, that garbage is most of the memory of an idle operator.
type trimming struct {
	last     time.Time // time of the last trim
	trimmed  uint64    // bytes that were allocated up to the last trim
	seen     uint64    // bytes that were allocated up to the last look
	starting time.Time // until when the latest start matters
	loaded   bool      // operators have started since the last trim

	took time.Duration // time that the last trim took
}

// started notices that operators have begun to serve.
func (t *trimming) started(now time.Time) { t.starting, t.loaded = now.Add(trimPause), true }

// due reports whether to trim now. It is called every trimLook, with the number of bytes that the
// process has allocated so far.
func (t *trimming) due(now time.Time, allocated uint64) bool {
	quiet, more := allocated-t.seen < trimQuiet, allocated-t.trimmed
	wanted, pause := quiet && more >= trimLeast, trimPause
	if now.Before(t.starting) {
		wanted, pause = t.loaded || quiet && more >= trimLeastStarted || more >= trimMuchStarted, trimPauseStarted
	}
	t.seen = allocated
	share := trimShare * t.took
	if quiet {
		share = trimShareQuiet * t.took
	}
	if !wanted || now.Sub(t.last) < max(pause, share) {
		return false
	}
	t.last, t.trimmed, t.loaded = now, allocated, false
	return true
}

// trims returns memory to the system for all operators of the process, and after starts the pages
// of the program that only a start needs.
//
// Memory belongs to the process. If each operator looked and trimmed for itself, the cost of
// both would grow with the square of their number.
var trims trimmer //nolint:gochecknoglobals // see above

// trimmer trims while operators serve. The zero value has none.
type trimmer struct {
	mu    sync.Mutex // guards all below
	items map[*Operator]struct{}
	fresh *Operator // the latest of those that have begun to serve, or closed a module, since the last look; nil: none
	stop  chan struct{}
}

// add follows an operator that has begun to serve.
func (t *trimmer) add(op *Operator) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.items) == 0 {
		t.items, t.stop = map[*Operator]struct{}{}, make(chan struct{})
		releasePages(op, resident.ReleaseCode) // of the load, before the watches need theirs
		go t.run(t.stop)                       // It ends after the last operator.
	}
	t.items[op], t.fresh = struct{}{}, op
}

// remove forgets an operator, if it has been added.
func (t *trimmer) remove(op *Operator) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.items[op]; !ok {
		return
	}
	delete(t.items, op)
	if len(t.items) == 0 {
		close(t.stop)
		t.fresh = nil // nothing looks at it any more
	}
}

// freed notices that a replaced module of an operator was closed, which leaves as much as a start.
func (t *trimmer) freed(op *Operator) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.items[op]; ok {
		t.fresh = op
	}
}

// look returns fresh, and forgets it.
func (t *trimmer) look() *Operator {
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh := t.fresh
	t.fresh = nil
	return fresh
}

// run looks until it is stopped.
func (t *trimmer) run(stop <-chan struct{}) {
	looks := time.NewTicker(trimLook)
	defer looks.Stop()
	allocated := []runtimemetrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	var latest *Operator // that has begun to serve, as long as that matters
	for due := (trimming{}); ; {
		select {
		case now := <-looks.C:
			if fresh := t.look(); fresh != nil {
				due.started(now)
				latest = fresh
			} else if now.After(due.starting) {
				latest = nil
			}
			if runtimemetrics.Read(allocated); due.due(now, allocated[0].Value.Uint64()) {
				began := time.Now()
				trim(latest)
				due.took = time.Since(began)
			}
		case <-stop:
			return
		}
	}
}

// trim returns memory. The pages of the program matter after starts only; at other times, started
// is nil.
func trim(started *Operator) {
	debug.FreeOSMemory()
	if started != nil {
		releasePages(started, resident.Release)
	}
}

// releasePages removes pages of the program from memory. The operator logs a failure.
func releasePages(op *Operator, release func() (uint64, error)) {
	if _, err := release(); err != nil {
		op.options.Log.Debug().Str(loggers.Field, "kopf.reactor").Err(err).Msg("The pages of the program stay in memory.")
	}
}

package operator

import (
	"runtime/debug"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/internal/resident"
	"github.com/kopf-wasm/kopf/reactor/loggers"
)

// Conditions for returning memory to the system.
const (
	trimEvents = 1000             // events handled since the last trim: fewer leave little garbage
	trimIdle   = time.Second / 2  // time without any event
	trimPause  = 30 * time.Second // time between two trims
	trimStart  = 5 * time.Second  // time after a start until its listings are over; those of a busy machine take until trimPause
)

// trimming decides when the process returns memory to the system.
type trimming struct {
	last    time.Time // time of the last trim
	trimmed uint64    // events handled up to the last trim
	seen    uint64    // events handled at the last look
	listed  time.Time // when the listings of the latest starts are over; zero: nothing to wait for
	slow    bool      // whether listed is for those of a busy machine
}

// started notices that operators have begun to serve.
func (t *trimming) started(now time.Time) { t.listed, t.slow = now.Add(trimStart), false }

// settled reports twice that the listings of the latest starts are over: after the usual
// time, and after a long one.
func (t *trimming) settled(now time.Time) bool {
	if t.listed.IsZero() || now.Before(t.listed) {
		return false
	}
	if t.slow {
		t.listed = time.Time{}
	} else {
		t.listed, t.slow = now.Add(trimPause), true
	}
	return true
}

// due reports whether to trim now. It is called every trimIdle.
func (t *trimming) due(now time.Time, handled uint64) bool {
	idle := handled == t.seen
	t.seen = handled
	if !idle || handled-t.trimmed < trimEvents || now.Sub(t.last) < trimPause {
		return false
	}
	t.last, t.trimmed = now, handled
	return true
}

// trims returns memory to the system for all operators of the process: after a start, what
// loading took (several times the size of the modules) and the pages of the program that only
// a start needs; seconds later, what its listings took; after a burst of events, what the burst left. The garbage collector alone would wait until the heap has doubled. After a
// listing, that garbage is most of the memory of an idle operator.
//
// Memory belongs to the process. If each operator looked and trimmed for itself, the cost of
// both would grow with the square of their number.
var trims trimmer //nolint:gochecknoglobals // see above

// trimmer trims while operators serve. The zero value has none.
type trimmer struct {
	mu    sync.Mutex // guards all below
	items map[*Operator]struct{}
	ended uint64      // events that operators have handled that have ended
	fresh []*Operator // that have begun to serve since the last look
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
	t.items[op], t.fresh = struct{}{}, append(t.fresh, op)
}

// remove forgets an operator, if it has been added.
func (t *trimmer) remove(op *Operator) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.items[op]; !ok {
		return
	}
	delete(t.items, op)
	t.ended += op.reactor.Handled()
	if len(t.items) == 0 {
		close(t.stop)
		t.fresh = nil // nothing looks at them any more
	}
}

// look returns what all operators have handled, and those that have begun since the last
// look.
func (t *trimmer) look() (handled uint64, fresh []*Operator) {
	t.mu.Lock()
	defer t.mu.Unlock()
	handled, fresh, t.fresh = t.ended, t.fresh, nil
	for op := range t.items {
		handled += op.reactor.Handled()
	}
	return handled, fresh
}

// run looks until it is stopped.
func (t *trimmer) run(stop <-chan struct{}) {
	looks := time.NewTicker(trimIdle)
	defer looks.Stop()
	var latest *Operator // that has begun to serve
	for due := (trimming{}); ; {
		select {
		case now := <-looks.C:
			handled, fresh := t.look()
			if n := len(fresh); n > 0 {
				due.started(now)
				latest = fresh[n-1]
			}
			settled := due.settled(now)
			if due.due(now, handled) || len(fresh) > 0 || settled {
				trim(latest)
			}
			if due.listed.IsZero() {
				latest = nil
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

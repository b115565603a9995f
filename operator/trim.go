package operator

import (
	"context"
	"runtime/debug"
	"time"
)

// Conditions for returning memory to the system.
const (
	trimEvents = 1000             // events handled since the last trim: fewer leave little garbage
	trimIdle   = time.Second / 2  // time without any event
	trimPause  = 30 * time.Second // time between two trims
)

// trimming decides when the operator returns memory to the system.
type trimming struct {
	last    time.Time // time of the last trim
	trimmed uint64    // events handled up to the last trim
	seen    uint64    // events handled at the last look
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

// trim returns memory to the system: after the start, what loading took (several times the
// size of the modules), and after a burst of events, what the burst left. The garbage
// collector alone would wait until the heap has doubled. After a listing, that garbage is
// most of the memory of an idle operator.
func (op *Operator) trim(ctx context.Context) {
	select {
	case <-op.ready:
		debug.FreeOSMemory()
	case <-ctx.Done():
		return
	}
	looks := time.NewTicker(trimIdle)
	defer looks.Stop()
	for t := (trimming{}); ; {
		select {
		case now := <-looks.C:
			if t.due(now, op.reactor.Handled()) {
				debug.FreeOSMemory()
			}
		case <-ctx.Done():
			return
		}
	}
}

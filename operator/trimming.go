package operator

import (
	"context"
	"runtime/debug"
	"time"
)

// When an operator gives memory back.
const (
	trimEvents = 1000             // that have been handled since the last time: fewer leave little behind
	trimIdle   = time.Second / 2  // in which none was handled
	trimPause  = 30 * time.Second // between two times
)

// trimming decides when memory is given back.
type trimming struct {
	last    time.Time // when it was
	trimmed uint64    // events handled by then
	seen    uint64    // events handled at the last look
}

// due is asked every trimIdle.
func (t *trimming) due(now time.Time, handled uint64) bool {
	idle := handled == t.seen
	t.seen = handled
	if !idle || handled-t.trimmed < trimEvents || now.Sub(t.last) < trimPause {
		return false
	}
	t.last, t.trimmed = now, handled
	return true
}

// trim gives memory back: what loading took, several times the size of the modules,
// when nobody waits for the operator to start any more; then what many events have
// left, when it has come to rest. The collector would not before the heap has doubled:
// after a listing, that is most of what an idle operator holds.
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

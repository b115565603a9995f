package watching

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/abi"
)

// errInactive means that nothing has arrived for too long.
var errInactive = errors.New("no data has arrived for too long")

// watchdog ends a connection over which nothing arrives anymore. A half-open connection,
// or a failed proxy, may look alive for hours.
type watchdog struct {
	timer    *time.Timer // nil: no watchdog
	patience time.Duration
	health   *health

	mu      sync.Mutex // guards all below
	lines   Lines      // nil: the watch is not open yet
	stopped bool
}

// watchdog starts a watchdog; a patience of 0 is endless.
func (s *Stream) watchdog(patience time.Duration, end func()) *watchdog {
	w := &watchdog{patience: patience, health: &s.health}
	if patience > 0 {
		w.timer = time.AfterFunc(patience, func() {
			if w.extends() {
				return
			}
			s.Log(abi.LevelDebug, fmt.Sprintf("Watch-stream for %s is inactive, reconnecting.", s.Path))
			end()
		})
	}
	return w
}

// watch lets the contacts of an open watch count.
func (w *watchdog) watch(lines Lines) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = lines
}

// extends restarts the time from the last contact of the watch, unless the watchdog is stopped.
// It returns false if that was too long ago.
func (w *watchdog) extends() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped || w.lines == nil {
		return w.stopped
	}
	contact := w.lines.Contact()
	left := time.Until(contact.Add(w.patience))
	if left <= 0 {
		return false
	}
	w.timer.Reset(left)
	w.health.reached(contact, left)
	return true
}

// stop ends the watchdog for good, also if its time is just over.
func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	if w.timer != nil {
		w.timer.Stop()
	}
}

// over wraps a reader, and restarts the time after each read.
func (w *watchdog) over(r io.Reader) io.Reader { return &activeReader{r, w.active} }

// active restarts the time.
func (w *watchdog) active() {
	if w.timer != nil {
		w.timer.Reset(w.patience)
	}
	w.health.active(w.patience)
}

package watching

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// errInactive means that nothing has arrived for too long.
var errInactive = errors.New("no data has arrived for too long")

// watchdog ends a connection over which nothing arrives anymore. A half-open connection,
// or a failed proxy, may look alive for hours.
type watchdog struct {
	timer    *time.Timer // nil: no watchdog
	patience time.Duration
	health   *health

	mu    sync.Mutex // guards lines
	lines Lines      // nil: the watch is not open yet
}

// watchdog starts a watchdog; a patience of 0 is endless.
func (s *Stream) watchdog(patience time.Duration, end func()) *watchdog {
	w := &watchdog{patience: patience, health: &s.health}
	if patience > 0 {
		w.timer = time.AfterFunc(patience, func() {
			if w.extends() {
				return
			}
			s.Log(10, fmt.Sprintf("Watch-stream for %s is inactive, reconnecting.", s.Path))
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

// extends restarts the time from the last contact of the watch. It returns false if that was
// too long ago.
func (w *watchdog) extends() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lines == nil {
		return false
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

func (w *watchdog) stop() {
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

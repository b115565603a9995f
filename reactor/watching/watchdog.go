package watching

import (
	"errors"
	"fmt"
	"io"
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
}

// watchdog starts a watchdog; a patience of 0 is endless.
func (s *Stream) watchdog(patience time.Duration, end func()) *watchdog {
	w := &watchdog{patience: patience, health: &s.health}
	if patience > 0 {
		w.timer = time.AfterFunc(patience, func() {
			s.Log(10, fmt.Sprintf("Watch-stream for %s is inactive, reconnecting.", s.Path))
			end()
		})
	}
	return w
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

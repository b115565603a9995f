package watching

import (
	"testing"
	"testing/synctest"
	"time"
)

// liveLines are of a watch that others keep alive.
type liveLines struct {
	Lines
	asked int
}

func (l *liveLines) Contact() time.Time {
	l.asked++
	return time.Now()
}

// TestAStoppedWatchdogStaysStopped: a timer that fires while the watch ends is not started again.
// Otherwise it would run as long as other streams share the watch.
func TestAStoppedWatchdogStaysStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Stream{}
		w, lines := s.watchdog(time.Minute, func() { t.Error("ended after its end") }), &liveLines{}
		w.watch(lines)
		w.stop()
		if !w.extends() {
			t.Error("it would end a watch")
		}
		time.Sleep(time.Hour)
		if lines.asked > 0 {
			t.Errorf("the contact was asked for %d times", lines.asked)
		}
	})
}

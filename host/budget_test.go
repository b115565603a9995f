package host

import (
	"errors"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/host/guests"
)

// TestTimeOutOfCores: a call does not compute while the system runs other processes. Time in host functions counts in full.
func TestTimeOutOfCores(t *testing.T) {
	for name, test := range map[string]struct {
		away    time.Duration
		calls   bool // a host function between two yields
		stopped bool
	}{
		"on a core":                {longestBudget / 2, false, false},
		"out of cores":             {time.Second, false, false},
		"in host functions":        {time.Second, true, true},
		"slower than it should be": {longestBudget + time.Millisecond, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(0, 0)
			b := newBudget(t.Context(), &Options{Clock: func() time.Time { return now }, Share: NewShare(0, 0), ComputeLimit: 21 * longestBudget}, now)
			b.queued = &queue{}
			b.share.Take()
			defer b.share.Leave()
			err := func() (err error) {
				defer func() {
					if stop, ok := recover().(*guests.Stopped); ok {
						err = stop
					}
				}()
				for range 20 {
					now = now.Add(test.away)
					if test.calls {
						b.enter(true)
					}
					b.yield()
				}
				return nil
			}()
			if errors.Is(err, ErrCompute) != test.stopped {
				t.Errorf("got %v", err)
			}
		})
	}
}

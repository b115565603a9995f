package processing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/loggers"
)

// throttler keeps an object that makes the framework itself fail from doing so
// all the time: after each failure in a row, its events are ignored for longer.
// Errors of handlers are not failures here.
//
// Kopf: kopf._core.actions.throttlers (v1.45).
type throttler struct {
	failures int       // in a row
	until    time.Time // zero: not active
}

// isOn tells whether the object is throttled.
func (t *throttler) isOn() bool { return !t.until.IsZero() }

// judge takes what has come of an event. It returns true if the object is throttled from
// now on.
func (t *throttler) judge(ctx context.Context, err error, log loggers.Logger, delays backoffs.Backoffs) bool {
	if err == nil {
		t.failures = 0
		return false
	}
	if ctx.Err() != nil || errors.Is(err, handling.ErrExiting) {
		return false // the operator ends: what was interrupted has told so
	}
	if len(delays.List) == 0 {
		log.Error(fmt.Sprintf("Handling has failed: %v", err))
		return false
	}
	t.failures++
	delay := delays.Sticky(t.failures)
	t.until = time.Now().Add(delay)
	log.Error(fmt.Sprintf("Throttling for %v seconds due to an unexpected error: %v", delay.Seconds(), err))
	return true
}

// end ends the throttling.
func (t *throttler) end(log loggers.Logger) {
	t.until = time.Time{}
	log.Info("Throttling is over. Switching back to normal operations.")
}

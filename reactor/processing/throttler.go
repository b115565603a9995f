package processing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kopf-wasm/kopf/internal/panics"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/loggers"
)

// throttler protects the operator from objects that make the framework fail. After each
// consecutive failure, events of the object are ignored for longer. Errors of handlers do
// not count.
//
// Kopf: kopf._core.actions.throttlers (v1.45).
type throttler struct {
	failures int       // consecutive failures
	until    time.Time // zero: not active
}

// isOn reports whether the object is throttled.
func (t *throttler) isOn() bool { return !t.until.IsZero() }

// judge evaluates the result of an event. It returns true if the object is throttled from
// now on.
func (t *throttler) judge(ctx context.Context, err error, log loggers.Logger, delays backoffs.Backoffs) bool {
	if err == nil {
		t.failures = 0
		return false
	}
	if ctx.Err() != nil || errors.Is(err, handling.ErrExiting) {
		return false // the operator exits: what was interrupted has already logged it
	}
	if len(delays.List) == 0 {
		log.Failure(fmt.Sprintf("Handling has failed: %v", err), panics.StackOf(err))
		return false
	}
	t.failures++
	delay := delays.Sticky(t.failures)
	t.until = time.Now().Add(delay)
	log.Failure(fmt.Sprintf("Throttling for %v seconds due to an unexpected error: %v", delay.Seconds(), err), panics.StackOf(err))
	return true
}

// end ends the throttling.
func (t *throttler) end(log loggers.Logger) {
	t.until = time.Time{}
	log.Info("Throttling is over. Switching back to normal operations.")
}

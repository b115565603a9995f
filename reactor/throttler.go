package reactor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kopf-wasm/kopf/reactor/backoffs"
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

// run does the work unless the object is throttled. While it is, events pass by,
// but the latest one is worked on as soon as the time is over: then run returns true,
// and the caller begins again. Before each sleep, leave gives up what the work needs.
func (t *throttler) run(ctx context.Context, q *queue, log logger, delays backoffs.Backoffs, leave func(), work func() error) (again bool) {
	if !t.until.IsZero() {
		leave()
		return t.wait(ctx, q, log)
	}
	err := work()
	if err == nil {
		t.failures = 0
		return false
	}
	if ctx.Err() != nil || errors.Is(err, errExiting) {
		return false // the operator ends: what was interrupted has told so
	}
	if len(delays.List) == 0 {
		log.error(fmt.Sprintf("Handling has failed: %v", err))
		return false
	}
	t.failures++
	delay := delays.Sticky(t.failures)
	t.until = time.Now().Add(delay)
	log.error(fmt.Sprintf("Throttling for %v seconds due to an unexpected error: %v", delay.Seconds(), err))
	leave()
	t.wait(ctx, q, log)
	return false
}

// wait sleeps until the throttling is over, or something new happens to the
// object; it tells whether it is over.
func (t *throttler) wait(ctx context.Context, q *queue, log logger) bool {
	if q.sleep(ctx, time.Until(t.until)) > 0 {
		return false
	}
	t.until = time.Time{}
	log.info("Throttling is over. Switching back to normal operations.")
	return true
}

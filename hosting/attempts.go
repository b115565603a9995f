package hosting

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/internal/panics"
)

// Restarts of an operator that has ended, and other attempts.
const (
	firstRetry  = time.Second
	lastRetry   = 5 * time.Minute
	stableAfter = 10 * time.Minute // an operator that has served for so long starts from the first retry again
	maxCrashes  = 8                // in a row, before the quarantine
)

// Attempts of one declaration, of all causes together. Each fetches and loads a module, and a
// change of the declaration or of its annotation costs its author little.
const (
	attemptsAtOnce = 10
	attemptPause   = 2 * time.Second // after that
)

// epoch is what one version of a declaration asks for.
type epoch struct {
	uid        string
	generation int64
	spec       api.Spec
	retry      string
	retries    int
	version    version // of another host that decides; zero: there is none
}

func epochOf(d *Declaration) epoch {
	return epoch{uid: d.UID, generation: d.Generation, spec: d.Spec, retry: d.Retry, retries: d.retries}
}

// epochOf is epochOf with what the leader lets this host run.
func (t *tenant) epochOf(d *Declaration) epoch {
	e := epochOf(d)
	if t.follows() {
		e.version = versionOf(d.Reported)
	}
	return e
}

func (e epoch) equal(other epoch) bool {
	return e.uid == other.uid && e.retry == other.retry && e.retries == other.retries && e.generation == other.generation && e.version == other.version && reflect.DeepEqual(e.spec, other.spec)
}

// asksAgain reports whether another epoch asks for the same declaration to be tried again.
func (e epoch) asksAgain(other epoch) bool {
	return e.uid == other.uid && e.generation == other.generation && (e.retry != other.retry || e.retries != other.retries)
}

// attempts are the failed ones of the present epoch.
type attempts struct {
	epoch    epoch
	final    bool        // no further attempt
	failures int         // in a row
	ends     int         // of the failures, those in which an operator that was loaded has ended
	crashes  int         // of these, those without an overlap
	due      time.Time   // of the next attempt
	timer    *time.Timer // kicks the tenant then; nil: none
}

// attemptInTurn attempts to run the declared operator, unless the last attempts have failed or were too many.
func (t *tenant) attemptInTurn(ctx, step context.Context, d *Declaration) {
	switch {
	case t.attempts.mustWait(time.Now()):
	case t.isCrowded():
		t.again(d, fmt.Sprintf("the declaration is replaced too often: %d operators of removed declarations of the namespace still stop", maxStopping))
	case !t.pace.Allow():
		t.again(d, fmt.Sprintf("the declaration changes or is replaced too often: more than %d attempts to start the operator follow each other with pauses of %v", attemptsAtOnce, attemptPause))
	default:
		t.report.unhurried(d, t.pace.Tokens())
		t.attempt(ctx, step, d)
	}
}

// again plans the next attempt, because this one has to wait.
func (t *tenant) again(d *Declaration, because string) {
	t.stopTimer()
	t.attempts.timer = time.AfterFunc(attemptPause, t.kick)
	t.report.hurried(d, because)
}

// attempt loads the declared operator, and lets it take the place of the one that runs.
func (t *tenant) attempt(ctx, step context.Context, d *Declaration) {
	t.report.begin(d, t.run != nil)
	replaced, err := t.launch(ctx, step, d, false)
	if replaced && t.needsServer(err) {
		_, err = t.launch(ctx, step, d, true)
	}
	if err != nil {
		t.fail(step, d, err)
		return
	}
	t.attempts.failures = t.attempts.ends
	t.continues(d)
}

// crash is the end of an operator by itself.
type crash struct{ error }

func (c *crash) Unwrap() error { return c.error }

// fail notes that an attempt has failed, and plans the next one.
func (t *tenant) fail(step context.Context, d *Declaration, err error) {
	if step.Err() != nil && errors.Is(err, step.Err()) {
		return // the declaration has changed meanwhile
	}
	a := &t.attempts
	if stack := panics.StackOf(err); stack != "" {
		t.log.Error().Str("logger", "kopf.hosting").Msg(fmt.Sprintf("%v\n%s", err, stack))
	}
	refusal := classify(err)
	a.failures++
	if own := (*crash)(nil); errors.As(err, &own) {
		a.crashes++
		if a.crashes >= maxCrashes {
			refusal = &Refusal{Condition: api.Quarantined, Reason: "CrashLoop", Final: true, Err: fmt.Errorf("the operator has ended %d times in a row, and starts again when its declaration changes, or by kopf retry: %w", a.crashes, err)}
		}
	}
	a.final = refusal.Final
	if a.final && t.run == nil {
		t.withdraw(step)
	}
	delay := time.Duration(0)
	if !a.final {
		delay = min(firstRetry<<min(a.failures-1, 20), lastRetry)
		a.due = time.Now().Add(delay)
		t.stopTimer()
		a.timer = time.AfterFunc(delay, t.kick)
	}
	t.report.restarts(a.crashes)
	t.report.failed(d, refusal, t.run != nil, a.failures, delay)
}

// mustWait reports whether the present epoch has failed, and is not due again.
func (a *attempts) mustWait(now time.Time) bool {
	return a.failures > 0 && (a.final || now.Before(a.due))
}

func (t *tenant) stopTimer() {
	if t.attempts.timer != nil {
		t.attempts.timer.Stop()
	}
}

package hosting

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/journals"
	"github.com/kopf-wasm/kopf/reactor/tracing"
)

// tenant is one declaration with its operator. What happens to it happens in one goroutine,
// which exists only while there is something to do.
type tenant struct {
	host   *Host
	key    Key
	log    zerolog.Logger
	report *reporter

	tracer  tracing.Tracer      // of all runs: a restart gives no new queue of spans; may be nil
	journal journals.Journal    // of the newest records of log
	present atomic.Pointer[run] // run, for other goroutines

	mu sync.Mutex // guards demand
	demand

	*allowance      // never changes
	departed   bool // the lock of the host guards it: see depart

	// Only the goroutine uses these fields.
	led      bool // this host runs the operator, and reports about it
	run      *run // nil: no operator
	yielded  bool // as the host knows: see Host.end
	attempts attempts
}

// demand is what the declaration and the host ask of a tenant.
type demand struct {
	desired Declaration // the newest one
	removed bool
	shutoff bool               // the host ends
	dirty   bool               // there is something to do
	working bool               // the goroutine exists
	abort   context.CancelFunc // ends what the goroutine does for an earlier declaration; nil: nothing
}

// newTenant makes a tenant. The caller holds the lock of the host.
func newTenant(h *Host, key Key) *tenant {
	t := &tenant{host: h, key: key, log: h.options.Log.With().Str("operator", key.String()).Logger(), allowance: h.left.take(key)}
	if output := h.options.Output; output != nil {
		all := zerolog.MultiLevelWriter(output, &t.journal)
		t.log = t.log.Output(&records{to: all, within: t.records, log: t.log.Output(all)})
	}
	if tracer := h.options.Tracer; tracer != nil {
		t.tracer = tracer(key.Namespace, key.Name)
	}
	t.report = &reporter{log: t.log, publish: t.publish, shared: t.shared, leads: h.leads}
	t.led, t.report.status.Host = h.options.Replica == nil, h.options.Name
	if !t.led {
		t.report.status.Host = h.options.Replica.Name()
	}
	return t
}

// declare sets the declaration. The caller holds the lock of the host.
func (t *tenant) declare(d Declaration) {
	t.mu.Lock()
	changed := t.removed || !sameSpec(&t.desired, &d) || t.host.shares() && !t.host.leads() && versionOf(t.desired.Reported) != versionOf(d.Reported)
	first := t.desired.Key == Key{}
	before := t.desired.UID
	another := !first && before != d.UID
	d.retries = t.desired.retries
	t.desired, t.removed = d, false
	t.interrupt(changed)
	t.mu.Unlock()
	if first {
		t.report.seed(d.Reported)
	}
	if another {
		t.host.dismissals.gone(before)
		t.report.repeat() // the new object has no status
	}
	if changed || first {
		t.start(t.host.ctx)
	}
}

// sameSpec reports whether two declarations ask for the same.
func sameSpec(a, b *Declaration) bool {
	return a.UID == b.UID && a.Generation == b.Generation && reflect.DeepEqual(a.Spec, b.Spec) && fmt.Sprint(a.Problem) == fmt.Sprint(b.Problem) && a.Local == b.Local && a.Retry == b.Retry && a.Leaving == b.Leaving
}

// remove removes the declaration, whose spec says what becomes of the finalizers. A second
// call ends a departure.
func (t *tenant) remove() {
	t.mu.Lock()
	if mode, _ := t.desired.Spec.Removal(); mode != api.Keep && !t.desired.Leaving && t.host.leads() {
		t.desired.Leaving, t.desired.orphan = true, true
	} else {
		t.removed = true
	}
	t.interrupt(true)
	t.mu.Unlock()
	t.start(t.host.ctx)
}

// shut stops the operator for ever, because the host ends.
func (t *tenant) shut(ctx context.Context) {
	t.mu.Lock()
	t.shutoff = true
	t.interrupt(true)
	t.mu.Unlock()
	t.start(ctx)
}

func (t *tenant) interrupt(changed bool) {
	if changed && t.abort != nil {
		t.abort()
	}
}

// uid returns the UID of the declaration.
func (t *tenant) uid() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.desired.UID
}

// isRemoved reports whether the tenant can be forgotten after its operator has stopped.
func (t *tenant) isRemoved() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.removed
}

// kick lets the goroutine look at the tenant, for timers, which have no context.
func (t *tenant) kick() {
	t.host.mu.Lock()
	ctx := t.host.ctx
	t.host.mu.Unlock()
	t.start(ctx)
}

// start is kick with the context of the host; nil before the host runs.
func (t *tenant) start(ctx context.Context) {
	if ctx == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dirty = true
	if !t.working {
		t.working = true
		t.host.workers.Go(func() { t.work(ctx) }) // Waited for by Host.Run.
	}
}

// work does what there is to do, and ends.
func (t *tenant) work(ctx context.Context) {
	for {
		t.mu.Lock()
		if !t.dirty {
			t.working = false
			t.mu.Unlock()
			return
		}
		t.dirty = false
		step, cancel := context.WithCancel(ctx)
		t.abort = cancel
		d, gone, ending := t.desired, t.removed, t.shutoff
		t.mu.Unlock()
		t.step(ctx, step, d, gone, ending)
		t.mu.Lock()
		t.abort = nil
		t.mu.Unlock()
		cancel()
	}
}

// step brings the tenant to its declaration. The context ctx is that of the operator, step
// that of the attempt.
func (t *tenant) step(ctx, step context.Context, d Declaration, gone, ending bool) {
	if e := t.epochOf(&d); !t.attempts.epoch.equal(e) {
		if t.run != nil && t.run.isOf(&d) && t.attempts.epoch.asksAgain(e) && t.report.isTroubled() {
			t.halt() // it runs as declared, but does not work
		}
		t.stopTimer()
		t.attempts = attempts{epoch: e}
		t.report.released(&d)
	}
	t.lead(step, &d)
	t.reap(step, &d)
	switch {
	case ending || t.host.hasLost():
		t.stopTimer()
		t.yield(ending)
		t.halt()
	case gone:
		t.stopTimer()
		t.halt()
		t.host.dismissals.forget(t.key)
		if t.unregister(step) {
			t.host.forget(t)
		}
	case t.follows():
		t.follow(ctx, step, &d)
	case d.Leaving && !t.led: // the leader lets the operator leave, and this host may have to continue
		t.stopTimer()
	case d.Leaving:
		t.stopTimer()
		t.leave(ctx, step, d)
	case d.Problem != nil:
		t.fail(step, &d, &Refusal{Condition: api.Accepted, Reason: "InvalidSpec", Final: true, Err: d.Problem})
	case d.Spec.Suspend:
		t.halt()
		t.withdraw(step)
		t.report.suspended(&d)
	case t.run != nil && t.run.isOf(&d):
		t.continues(&d)
	default:
		t.attemptInTurn(ctx, step, &d)
	}
}

// continues reports about an operator that runs as declared.
func (t *tenant) continues(d *Declaration) {
	t.report.running(t.run.artifact)
	t.report.serving(d, t.run, t.attempts.crashes)
	t.lookSoon()
}

// look reports problems of the operator's streams, if there is an operator that runs as declared.
func (t *tenant) look(ctx context.Context) {
	t.mu.Lock()
	busy := t.working
	t.mu.Unlock()
	if !busy && t.present.Load() != nil && t.report.runsAsDeclared() {
		t.start(ctx)
	}
}

package hosting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/journals"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/reactor/tracing"
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

// run is an operator that runs.
type run struct {
	op    instance
	epoch epoch
	local string // as in Declaration
	began time.Time

	artifact string        // with its digest
	signed   bool          // as required
	idle     chan struct{} // closed when nothing is left of its work on objects; may stay open if the operator does not end
	ended    chan struct{} // closed when err is set
	err      error
	next     *Fetched // what Open reads; nil outside of a load
	loaded   func()   // called when a module that replaces another one is loaded

	brakes   brakes    // what holds the operator back
	looks    int       // soon after its start
	served   bool      // its streams have delivered
	troubled time.Time // since when they do not; zero: they do
}

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

// maxReplaced is how many replaced modules of an operator may still have handlers that wait, maybe for days. Each keeps its code, the
// image of its memory and files of the process. Then the operator is started again, instead of another replacement.
const maxReplaced = 16

// launch fetches the declared module. It replaces the module of the operator that runs, if nothing else differs. Otherwise, and if the
// operator has to restart, it starts a new one.
func (t *tenant) launch(ctx, step context.Context, d *Declaration, restart bool) (replaced bool, err error) {
	wanted := t.pinned(d)
	options, fetched, err := t.prepare(step, wanted)
	if err != nil {
		return false, err
	}
	defer fetched.free()
	fetched.Artifact = cmp.Or(wanted.Pin, fetched.Artifact)
	t.report.fetched(fetched, d)
	if restart || t.run == nil || !onlyModuleDiffers(t.run, d) || t.run.op.Replaced() >= maxReplaced {
		return false, t.renew(ctx, step, d, options, fetched)
	}
	return true, t.replace(step, d, fetched)
}

// firstLook is the time until the first look at an operator that does not know its resources
// yet, or has not listed their objects. The times double up to that of usual looks.
const firstLook = 100 * time.Millisecond

// lookSoon looks at a new operator again before usual looks, because its status has to name
// the resources soon: if the host dies, the next one needs them to release objects.
func (t *tenant) lookSoon() {
	delay := firstLook << t.run.looks
	if delay >= looking || t.run.served && len(t.run.op.Facts().Resources) > 0 {
		return
	}
	t.run.looks++
	t.stopTimer()
	t.attempts.timer = time.AfterFunc(delay, t.kick)
}

// isOf reports whether the operator is what a declaration asks for. The content of files can
// change while the spec does not: then the generation differs.
func (r *run) isOf(d *Declaration) bool {
	return r.epoch.uid == d.UID && reflect.DeepEqual(r.epoch.spec, d.Spec) && r.local == d.Local && (d.Local == "" || r.epoch.generation == d.Generation)
}

// onlyModuleDiffers reports whether an operator can be replaced while it runs.
func onlyModuleDiffers(r *run, d *Declaration) bool {
	before, after := r.epoch.spec, d.Spec
	if d.Local == "" {
		before.Module, after.Module = "", "" // files are read by their names
	}
	before.PullSecrets, after.PullSecrets, before.Verification, after.Verification = nil, nil, nil, nil
	return r.epoch.uid == d.UID && r.local == d.Local && r.isReady() && reflect.DeepEqual(before, after)
}

func (r *run) isReady() bool {
	select {
	case <-r.op.Ready():
		return true
	default:
		return false
	}
}

// replace replaces the module of the operator, which continues to run. The startup handlers of the new module may take as long as they
// like: they occupy neither memory for it nor a place among the operators that are loaded.
func (t *tenant) replace(step context.Context, d *Declaration, fetched *Fetched) error {
	leave, err := t.host.enter(step, d)
	if err != nil {
		return err
	}
	loaded := sync.OnceFunc(func() { leave(); fetched.free() })
	t.run.next, t.run.loaded = fetched, loaded
	defer func() { loaded(); t.run.next, t.run.loaded = nil, nil }()
	if _, err := t.run.op.Reload(step); err != nil {
		return err
	}
	t.run.epoch, t.run.artifact, t.run.signed = epochOf(d), fetched.Artifact, fetched.Signed
	return nil
}

// renew loads a new operator, stops the old one, and starts the new one.
func (t *tenant) renew(ctx, step context.Context, d *Declaration, o operator.Options, fetched *Fetched) error {
	uid := d.UID
	r := &run{epoch: epochOf(d), local: d.Local, artifact: fetched.Artifact, signed: fetched.Signed, idle: make(chan struct{}), ended: make(chan struct{}), next: fetched}
	o.Modules = []string{fetched.Name}
	o.Open = func(ctx context.Context, name string) (string, []byte, error) { return r.next.Open(ctx, name) }
	o.Loaded = func() { r.loaded() }
	given := permissionOf(&o, t.host.holding(d), t.report.registers)
	t.limit(&o)
	o.Tenant = t.host.ownerOf(d)
	if t.tracer != nil {
		o.Tracer = t.tracer
	}
	idle := sync.OnceFunc(func() { t.host.dismissals.end(uid); close(r.idle) })
	o.Replicas = t.host.leadership(idle)
	if !t.host.dismissals.begin(uid) {
		return errDismissed
	}
	op, err := t.host.load(step, d, o)
	if err != nil {
		t.host.dismissals.end(uid)
		return err
	}
	t.share.Change(o.Host.ComputeWeight, o.Host.ComputeRate)
	t.changeOutput(o.Host.LogLimit)
	r.next = nil
	fetched.free() // the former operator may take long to stop, and the startup handlers may never end
	t.halt()
	r.op, r.began = op, time.Now()
	t.setRun(r)
	t.log.Info().Str("logger", "kopf.hosting").Msg("The operator starts.")
	t.host.workers.Add(1) // Waited for by Host.Run.
	op.Start(ctx, func(err error) {
		defer t.host.workers.Done()
		r.err = err
		if !errors.Is(r.err, operator.ErrExitTimeout) { // otherwise something may be left of it
			idle()
		}
		close(r.ended)
		t.start(ctx)
	})
	return t.wait(step, r, given)
}

// yield stops the operator, and waits until nothing is left of its work on objects. It lets a host that ends know.
func (t *tenant) yield(ending bool) {
	if r := t.run; r != nil {
		r.op.Stop()
		select {
		case <-r.idle:
		case <-r.ended:
		}
	}
	if ending && !t.yielded {
		t.yielded = true
		t.host.busy.Done()
	}
}

// halt stops the operator gracefully, and waits for its end.
func (t *tenant) halt() {
	if t.run == nil {
		return
	}
	t.log.Info().Str("logger", "kopf.hosting").Msg("The operator stops.")
	t.run.op.Stop()
	<-t.run.ended
	if err := t.run.err; err != nil && !errors.Is(err, operator.ErrLeaseLost) { // the host says it once for all
		t.log.Error().Str("logger", "kopf.hosting").Err(err).Msg("The operator has stopped with an error.")
	}
	t.setRun(nil)
}

// setRun sets the operator that runs; nil: none.
func (t *tenant) setRun(r *run) {
	t.run = r
	t.present.Store(r)
}

// reap notices that the operator has ended by itself.
func (t *tenant) reap(step context.Context, d *Declaration) {
	if t.run == nil || t.host.hasLost() {
		return
	}
	select {
	case <-t.run.ended:
		t.fail(step, d, t.reaped())
	default:
	}
}

// reaped returns why the operator has ended.
func (t *tenant) reaped() error {
	r := t.run
	t.setRun(nil)
	if r.isReady() && time.Since(r.began) >= stableAfter {
		t.attempts.failures, t.attempts.ends, t.attempts.crashes = 0, 0, 0
	}
	t.attempts.ends++
	if r.err == nil {
		return &crash{errors.New("the operator has ended")}
	}
	var refusal *Refusal
	if errors.As(r.err, &refusal) || errors.Is(r.err, operator.ErrOverlap) {
		return r.err
	}
	return &crash{r.err}
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

// look reports problems of the operator's streams, if there is an operator that runs as declared.
func (t *tenant) look(ctx context.Context) {
	t.mu.Lock()
	busy := t.working
	t.mu.Unlock()
	if !busy && t.present.Load() != nil && t.report.runsAsDeclared() {
		t.start(ctx)
	}
}

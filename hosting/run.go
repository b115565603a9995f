package hosting

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/internal/panics"
	"github.com/kopf-wasm/kopf/operator"
)

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
	if delay >= lookInterval || t.run.served && len(t.run.op.Facts().Resources) > 0 {
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
func (t *tenant) replace(step context.Context, d *Declaration, fetched *Fetched) (err error) {
	leave, err := t.host.enter(step, d)
	if err != nil {
		return err
	}
	loaded := sync.OnceFunc(func() { leave(); fetched.free() })
	t.run.next, t.run.loaded = fetched, loaded
	defer func() { loaded(); t.run.next, t.run.loaded = nil, nil }()
	defer panics.Recover(&err)
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
	var scarce *operator.BudgetError
	if errors.As(r.err, &refusal) || errors.As(r.err, &scarce) || errors.Is(r.err, operator.ErrOverlap) {
		return r.err
	}
	return &crash{r.err}
}

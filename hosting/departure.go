package hosting

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/finalizers"
	"github.com/kopf-wasm/kopf/hosting/places"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
)

// Times of a departure.
const (
	firstCount  = time.Second // between two counts of the objects that are being deleted
	lastCount   = 5 * time.Second
	lastRelease = time.Minute      // between two attempts to remove the finalizers
	giveUpAfter = 10 * time.Minute // after the time for deletion handlers
)

// releaser is a finalizers.Finalizers.
type releaser interface {
	Deleting(ctx context.Context) (int, error)
	Release(ctx context.Context) (int, error)
	Close()
}

// departure removes the finalizers of an operator whose declaration is being deleted, as its
// spec.onRemoval says.
//
// # Guarantees
//
//   - The operator does not run while its finalizers are removed: it would add them again.
//   - All requests are made as the service account of the operator.
//   - A departure that is interrupted, because the host ends, can be repeated. The limits of its
//     time are those of the first attempt, as the status keeps when that began.
type departure struct {
	t       *tenant
	d       *Declaration
	options finalizers.Options
	began   time.Time
	until   time.Time // for deletion handlers

	selection *places.Selection // of namespaces, in place of those of the options; nil: those
	log       zerolog.Logger
}

// leave stops the operator, and removes its finalizers. If the step ends, the next one
// continues.
func (t *tenant) leave(ctx, step context.Context, d Declaration) {
	if d.Problem != nil && t.run != nil {
		d.Spec, d.Problem = t.run.epoch.spec, nil
	}
	if p := newDeparture(t, &d); p != nil {
		p.attend(ctx, step)
		if step.Err() != nil {
			return
		}
		t.halt()
		if p.dismiss(step) && !p.release(step) || step.Err() != nil {
			return
		}
	}
	t.halt()
	if !t.unregister(step) {
		return
	}
	t.mu.Lock()
	t.removed = t.desired.Leaving // unless it was declared again meanwhile
	t.mu.Unlock()
	if d.orphan {
		t.host.dismissals.forget(t.key)
	}
	t.host.forget(t)
}

// newDeparture makes the departure of a tenant; nil if there is nothing to remove.
func newDeparture(t *tenant, d *Declaration) *departure {
	mode, limit := d.Spec.Removal()
	if mode != api.Release && mode != api.ReleaseAfter {
		return nil
	}
	p := &departure{t: t, d: d, log: t.log.With().Str("logger", "kopf.hosting").Logger()}
	p.options = finalizers.Options{Login: t.host.options.Identities.Login(d.Account()), Compute: t.share.Compute, Log: p.log}
	if replica := t.host.options.Replica; replica != nil {
		p.options.Guard = leading{replica}
	}
	p.locate()
	if p.options.Finalizer == "" || len(p.options.Resources) == 0 {
		return nil // the operator has never served
	}
	o, err := t.host.optionsOf(d)
	if err != nil { // such as limits above those that the host has now: what it has to remove is known all the same
		o, err = t.host.placed(d)
	}
	if err != nil {
		p.log.Warn().Err(err).Msg("The declaration is invalid. The operator is removed, and its finalizers stay.")
		return nil
	}
	t.limit(&o)
	p.options.Namespaces, p.options.Limits = o.Namespaces, o.Limits
	t.share.Change(o.Host.ComputeWeight, o.Host.ComputeRate) // also if this host has never run the operator
	if selection, ok := o.Territory.(*places.Selection); ok {
		p.selection = selection
	}
	message := fmt.Sprintf("the declaration is being deleted; the finalizers %s of the operator are removed", p.options.Finalizer)
	if limit > 0 && p.mayRun() {
		message = fmt.Sprintf("the declaration is being deleted; the finalizers %s of the operator are removed when no object waits for its deletion handlers, or after %v", p.options.Finalizer, limit)
	}
	p.began = t.report.releasing(d, message)
	p.until = p.began.Add(limit)
	return p
}

// locate finds out what the operator handles: what it says itself, and what it has said
// before, maybe to an earlier host.
func (p *departure) locate() {
	known := func(resources []string, finalizer string) {
		p.options.Resources = append(p.options.Resources, resources...)
		if p.options.Finalizer == "" {
			p.options.Finalizer = finalizer
		}
	}
	if run := p.t.run; run != nil && run.isReady() {
		facts := run.op.Facts()
		known(facts.Resources, facts.Finalizer)
	}
	for _, status := range []*api.Status{p.t.report.last(), p.d.Reported} {
		if status != nil {
			known(status.Resources, status.Finalizer)
		}
	}
	slices.Sort(p.options.Resources)
	p.options.Resources = slices.Compact(p.options.Resources)
}

// mayRun reports whether the operator may run for its deletion handlers.
func (p *departure) mayRun() bool { return !p.d.Spec.Suspend && p.d.Problem == nil }

// attend lets the operator run its deletion handlers, until no object waits for them or
// their time is over. An operator that does not run is started, unless it is suspended or its declaration is invalid.
func (p *departure) attend(ctx, step context.Context) {
	limited, cancel := context.WithDeadline(step, p.until)
	defer cancel()
	for pauses := (backoffs.Doubling{First: firstCount, Most: lastCount}); limited.Err() == nil && p.mayRun() && !p.t.host.dismissals.has(p.d.UID); {
		waiting, err := p.count(limited)
		if err == nil && waiting == 0 {
			return
		}
		if err == nil {
			err = p.revive(ctx, limited)
		}
		if err != nil && limited.Err() == nil {
			p.log.Warn().Err(err).Int("objects", waiting).Msg("Objects wait for their deletion handlers.")
		}
		if backoffs.Pause(limited, pauses.Next()) != nil {
			return
		}
	}
}

// revive starts the operator if it does not run.
func (p *departure) revive(ctx, step context.Context) error {
	if p.t.run != nil {
		select {
		case <-p.t.run.ended:
			p.t.setRun(nil)
		default:
			return nil
		}
	}
	options, fetched, err := p.t.prepare(step, p.d)
	if err != nil {
		return err
	}
	defer fetched.free()
	return p.t.renew(ctx, step, p.d, options, fetched)
}

func (p *departure) count(ctx context.Context) (int, error) {
	objects, err := p.objects(ctx)
	if objects == nil {
		return 0, err
	}
	defer objects.Close()
	return objects.Deleting(ctx)
}

// release removes the finalizers, and tries again after failures. It is true when the
// tenant can be forgotten, and false if the step has ended.
func (p *departure) release(step context.Context) bool {
	total := 0
	for pauses := (backoffs.Doubling{First: firstRetry, Most: lastRelease}); ; {
		pause := pauses.Next()
		released, err := p.once(step)
		total += released
		if err == nil {
			p.log.Info().Int("objects", total).Str("finalizer", p.options.Finalizer).Msg("The finalizers of the operator are removed.")
			return true
		}
		if step.Err() != nil {
			return false
		}
		if time.Since(p.until) >= giveUpAfter {
			p.log.Error().Err(err).Int("objects", total).Msg("The finalizers of the operator cannot be removed, and stay.")
			p.t.report.unreleased(p.d, err, 0)
			return true
		}
		p.log.Warn().Err(err).Int("objects", total).Dur("pause", pause).Msg("The finalizers of the operator cannot be removed; the host tries again.")
		p.t.report.unreleased(p.d, err, pause)
		if backoffs.Pause(step, pause) != nil {
			return false
		}
	}
}

// objects finds the objects of the operator; nil with an error, or if it serves no namespace.
func (p *departure) objects(ctx context.Context) (releaser, error) {
	options := p.options
	if p.selection != nil {
		if err := p.selection.Wait(ctx); err != nil {
			return nil, err
		}
		if options.Namespaces = p.selection.Names(); len(options.Namespaces) == 0 {
			return nil, nil
		}
	}
	return p.t.host.options.release(ctx, options), nil
}

func (p *departure) once(ctx context.Context) (int, error) {
	objects, err := p.objects(ctx)
	if objects == nil {
		return 0, err
	}
	defer objects.Close()
	released, err := objects.Release(ctx)
	if refusal := (*Refusal)(nil); errors.As(err, &refusal) {
		err = refusal.Err
	}
	return released, err
}

// releasing reports that the finalizers are removed. It returns when that began, which may
// be before this host.
func (r *reporter) releasing(d *Declaration, message string) time.Time {
	var began time.Time
	r.update(d, nil, finding{api.Releasing, api.True, "Deleted", message}, finding{api.Ready, api.False, "Releasing", message})
	r.renumber(d)
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.status.Find(api.Releasing); c != nil {
		began = c.LastTransitionTime
	}
	return began
}

// unreleased reports that the finalizers could not be removed. A pause of zero means that
// there is no further attempt.
func (r *reporter) unreleased(d *Declaration, err error, pause time.Duration) {
	message := fmt.Sprintf("the finalizers of the operator cannot be removed; the next attempt follows after %v: %v", pause, err)
	reason := "Releasing"
	if pause == 0 {
		message = fmt.Sprintf("the finalizers of the operator cannot be removed, and stay on its objects: %v", err)
		reason = api.ReleaseFailed
	}
	r.update(d, nil, finding{api.Ready, api.False, reason, message}, finding{api.Degraded, api.True, api.ReleaseFailed, message})
}

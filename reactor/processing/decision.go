package processing

import (
	"context"
	"time"

	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/daemons"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// spy calls the handlers of raw events: all of them, at once. Their patches and results
// are the only changes of the object.
func (c *cycle) spy(ctx context.Context) error {
	if len(c.p.Handlers.Watching) == 0 || c.it.Again {
		return nil
	}
	quiet := c.Patch.Empty()
	raw := handling.NewCause(c.Locally(), handling.RawEvent{})
	selected, err := raw.Match(ctx, c.p.Handlers.Watching)
	if err != nil {
		return err
	}
	state := progression.State{}.WithHandlers(registries.IDs(selected), time.Now())
	outcomes, err := c.p.Execution(progression.AllAtOnce, handling.ModeIgnored).Run(ctx, selected, raw, state)
	if err != nil {
		return err
	}
	err = progression.DeliverResults(handling.ForState(outcomes), &c.Patch.Merge)
	if quiet && !c.Patch.Empty() {
		c.begins(selected)
	}
	return err
}

// plan manages daemons and the finalizer, then calls the handlers of changes. It does not
// call handlers of changes on a state that may be outdated.
func (c *cycle) plan(ctx context.Context, clean bool) (plan, error) {
	changed, err := c.p.detect(ctx, c)
	if err != nil {
		return plan{}, err
	}
	with := c.attendance()
	delays, err := c.attend(ctx, with, len(changed.Change().Diff) > 0)
	if err != nil {
		return plan{}, err
	}
	if changed, err = c.p.unlessIrrelevant(ctx, changed); err != nil {
		return plan{}, err
	}
	guarded, err := c.guardDeletion(ctx, with, changed)
	if err != nil || guarded {
		return plan{delays: delays}, err
	}
	switch {
	case changed == nil:
		// Only daemons are waited for.
	case !c.it.ConsistentAt.IsZero() && changed.Change().Reason != causes.Gone:
		return plan{delays: delays, stale: true}, nil
	case !clean:
		return plan{delays: delays}, nil
	default:
		more, err := c.handleChange(ctx, changed)
		if err != nil {
			return plan{matched: true}, err
		}
		delays = append(delays, more...)
	}
	if c.it.Type != watching.Deleted && c.Deleted() && c.p.isBlocked(c.Object) && len(delays) == 0 {
		c.aside().Debug("Removing the finalizer, thus allowing the actual deletion.")
		c.Patch.Add(patching.InPlace(causes.AllowDeletion, c.p.Settings.Persistence.Finalizer))
	}
	return plan{delays: delays, matched: changed != nil}, nil
}

// attendance returns the object with its daemons and timers; nil if no handlers for them
// exist.
func (c *cycle) attendance() *daemons.Attendance {
	if len(c.p.Handlers.Spawning) == 0 {
		return nil
	}
	return &daemons.Attendance{
		Cause: handling.NewCause(c.Object, nil), Memory: c.memory.daemons(), Starts: c.starts, Nudge: c.queue.Nudger(), Crowded: c.crowded,
	}
}

// attend starts and stops the daemons and timers of the object. It returns the times until
// ending ones must be checked again.
func (c *cycle) attend(ctx context.Context, with *daemons.Attendance, essential bool) ([]time.Duration, error) {
	if with == nil {
		return nil, nil
	}
	if essential {
		with.Memory.NoteChange()
	}
	if c.it.Type == watching.Deleted {
		c.p.Engine.Bury(with.Memory)
		return nil, nil
	}
	return c.p.Engine.Attend(ctx, with)
}

// guardDeletion adds or removes the finalizer as the handlers require. A cycle that
// changes the finalizer does nothing else.
func (c *cycle) guardDeletion(ctx context.Context, with *daemons.Attendance, changed *handling.Cause) (guarded bool, err error) {
	finalizer := c.p.Settings.Persistence.Finalizer
	required, err := c.requiresFinalizer(ctx, with, changed)
	if err != nil {
		return false, err
	}
	blocked := c.p.isBlocked(c.Object)
	switch {
	case required && !blocked && !c.Deleted():
		c.aside().Debug("Adding the finalizer, thus preventing the actual deletion.")
		c.Patch.Add(patching.InPlace(causes.BlockDeletion, finalizer))
	case !required && blocked:
		c.aside().Debug("Removing the finalizer, as there are no handlers requiring it.")
		c.Patch.Add(patching.InPlace(causes.AllowDeletion, finalizer))
	default:
		return false, nil
	}
	return true, nil
}

// requiresFinalizer reports whether work remains before the object may be deleted: daemons
// to stop, or handlers to call.
func (c *cycle) requiresFinalizer(ctx context.Context, with *daemons.Attendance, changed *handling.Cause) (required bool, err error) {
	if with != nil {
		required, err = c.p.Engine.Guards(ctx, with)
	}
	if err == nil && !required && changed != nil {
		required, err = changed.PrematchesAny(ctx, c.p.Handlers.Requiring)
	}
	return required, err
}

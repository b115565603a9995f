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

// spy calls the handlers of raw events: all of them, at once, without any
// traces on the object but their own patches and results.
func (c *cycle) spy(ctx context.Context) error {
	if len(c.p.Handlers.Watching) == 0 || c.it.Again {
		return nil
	}
	raw := handling.NewCause(c.Locally(), handling.RawEvent{})
	selected, err := raw.Match(ctx, c.p.Handlers.Watching)
	if err != nil {
		return err
	}
	selected = registries.Deduplicated(selected)
	state := progression.State{}.WithHandlers(registries.IDs(selected), time.Now())
	outcomes, err := c.p.Execution(progression.AllAtOnce, handling.ModeIgnored).Run(ctx, selected, raw, state)
	if err != nil {
		return err
	}
	return progression.DeliverResults(handling.ForState(outcomes), &c.Patch.Merge)
}

// plan keeps daemons and the finalizer in order, then calls the handlers of
// changes: but not on a state that may be outdated.
func (c *cycle) plan(ctx context.Context, clean bool) (plan, error) {
	changed, err := c.p.detect(c)
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
		// Nothing but daemons to wait for.
	case !c.it.ConsistentAt.IsZero() && changed.Change().Reason != causes.Gone:
		return plan{delays: delays, stale: true}, nil
	case !clean:
		return plan{delays: delays}, nil
	default:
		more, err := c.p.handleChange(ctx, c.memory, changed)
		if err != nil {
			return plan{matched: true}, err
		}
		delays = append(delays, more...)
	}
	if c.it.Type != watching.Deleted && c.Deleted() && c.p.isBlocked(c.Object) && len(delays) == 0 {
		c.Log.Debug("Removing the finalizer, thus allowing the actual deletion.")
		c.Patch.Add(patching.InPlace(causes.AllowDeletion, c.p.Settings.Persistence.Finalizer))
	}
	return plan{delays: delays, matched: changed != nil}, nil
}

// attendance is the object with its daemons and timers; nil if there are no handlers for them.
func (c *cycle) attendance() *daemons.Attendance {
	if len(c.p.Handlers.Spawning) == 0 {
		return nil
	}
	return &daemons.Attendance{
		Cause: handling.NewCause(c.Object, nil), Memory: &c.memory.Background, Starts: c.starts, Nudge: c.queue.Nudger(), Crowded: c.crowded,
	}
}

// attend starts and stops the daemons and timers of the object. It returns when to look at
// those that are ending.
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

// guardDeletion keeps the finalizer in step with what the handlers require. A
// cycle that changes the finalizer does nothing else.
func (c *cycle) guardDeletion(ctx context.Context, with *daemons.Attendance, changed *handling.Cause) (guarded bool, err error) {
	finalizer := c.p.Settings.Persistence.Finalizer
	required, err := c.requiresFinalizer(ctx, with, changed)
	if err != nil {
		return false, err
	}
	blocked := c.p.isBlocked(c.Object)
	switch {
	case required && !blocked && !c.Deleted():
		c.Log.Debug("Adding the finalizer, thus preventing the actual deletion.")
		c.Patch.Add(patching.InPlace(causes.BlockDeletion, finalizer))
	case !required && blocked:
		c.Log.Debug("Removing the finalizer, as there are no handlers requiring it.")
		c.Patch.Add(patching.InPlace(causes.AllowDeletion, finalizer))
	default:
		return false, nil
	}
	return true, nil
}

// requiresFinalizer tells whether there is anything to do at the end of the
// object's life: daemons to stop, or handlers to call.
func (c *cycle) requiresFinalizer(ctx context.Context, with *daemons.Attendance, changed *handling.Cause) (required bool, err error) {
	if with != nil {
		required, err = c.p.Engine.Guards(ctx, with)
	}
	if err == nil && !required && changed != nil {
		required, err = changed.PrematchesAny(ctx, c.p.Handlers.Requiring)
	}
	return required, err
}

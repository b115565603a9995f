package reactor

import (
	"context"
	"time"

	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// spy calls the handlers of raw events: all of them, at once, without any
// traces on the object but their own patches and results.
func (c *cycle) spy(ctx context.Context) error {
	if len(c.p.handlers.watching) == 0 || c.it.again {
		return nil
	}
	raw := newCause(c.locally(), rawEvent{})
	selected, err := raw.match(ctx, c.p.handlers.watching)
	if err != nil {
		return err
	}
	selected = deduplicated(selected)
	state := progression.State{}.WithHandlers(idsOf(selected), time.Now())
	outcomes, err := c.p.execution(progression.AllAtOnce, modeIgnored).run(ctx, selected, raw, state)
	if err != nil {
		return err
	}
	return progression.DeliverResults(forState(outcomes), &c.patch.merge)
}

// plan keeps daemons and the finalizer in order, then calls the handlers of
// changes: but not on a state that may be outdated.
func (c *cycle) plan(ctx context.Context, clean bool) (plan, error) {
	changed, err := c.p.detect(c)
	if err != nil {
		return plan{}, err
	}
	with := &attendance{cause: newCause(c.object, nil), memory: &c.memory.background, spawned: c.spawned, nudge: c.queue.nudger(), crowded: c.crowded}
	delays, err := c.attend(ctx, with, len(changed.change().diff) > 0)
	if err != nil {
		return plan{}, err
	}
	if changed, err = c.p.unlessStranger(ctx, changed); err != nil {
		return plan{}, err
	}
	guarded, err := c.guardDeletion(ctx, with, changed)
	if err != nil || guarded {
		return plan{delays: delays}, err
	}
	switch {
	case changed == nil:
		// Nothing but daemons to wait for.
	case !c.it.consistentAt.IsZero() && changed.change().reason != causes.Gone:
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
	if c.it.Type != watching.Deleted && c.deleted() && c.p.isBlocked(c.object) && len(delays) == 0 {
		c.log.debug("Removing the finalizer, thus allowing the actual deletion.")
		c.patch.add(inPlace(causes.AllowDeletion, c.p.settings.Persistence.Finalizer))
	}
	return plan{delays: delays, matched: changed != nil}, nil
}

// attend starts and stops the daemons and timers of the object. It returns when to look at
// those that are ending.
func (c *cycle) attend(ctx context.Context, with *attendance, essential bool) ([]time.Duration, error) {
	if len(c.p.handlers.spawning) == 0 {
		return nil, nil
	}
	if essential {
		with.memory.noteChange()
	}
	if c.it.Type == watching.Deleted {
		c.p.engine.bury(with.memory)
		return nil, nil
	}
	return c.p.engine.attend(ctx, with)
}

// guardDeletion keeps the finalizer in step with what the handlers require. A
// cycle that changes the finalizer does nothing else.
func (c *cycle) guardDeletion(ctx context.Context, with *attendance, changed *cause) (guarded bool, err error) {
	finalizer := c.p.settings.Persistence.Finalizer
	required, err := c.requiresFinalizer(ctx, with, changed)
	if err != nil {
		return false, err
	}
	blocked := c.p.isBlocked(c.object)
	switch {
	case required && !blocked && !c.deleted():
		c.log.debug("Adding the finalizer, thus preventing the actual deletion.")
		c.patch.add(inPlace(causes.BlockDeletion, finalizer))
	case !required && blocked:
		c.log.debug("Removing the finalizer, as there are no handlers requiring it.")
		c.patch.add(inPlace(causes.AllowDeletion, finalizer))
	default:
		return false, nil
	}
	return true, nil
}

// requiresFinalizer tells whether there is anything to do at the end of the
// object's life: daemons to stop, or handlers to call.
func (c *cycle) requiresFinalizer(ctx context.Context, with *attendance, changed *cause) (bool, error) {
	required, err := c.p.engine.guards(ctx, with)
	if err == nil && !required && changed != nil {
		required, err = changed.prematchesAny(ctx, c.p.handlers.requiring)
	}
	return required, err
}

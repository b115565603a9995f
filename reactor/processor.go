package reactor

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/calls"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// processor handles the events of the objects of one resource.
//
// Kopf: kopf._core.reactor.processing (v1.45).
type processor struct {
	resource   selectors.Resource
	generation *generation // held by each event
	handlers   *resourceHandlers
	settings   *settings.Settings
	memories   *memories
	applier    *applier
	lifecycle  progression.Lifecycle
	log        zerolog.Logger
	refKey     string
	events     *events
	runnables  *runnables
	indices    *indexing.Indices
	indexed    *gate // open when the indices are complete
	pauses     *pauses
	caller     *calls.Caller
	completion *completion

	background *execution // of daemons and timers

	// again handles an event from the start, with the present handlers.
	again func(ctx context.Context, it item, q *queue) (version string)
}

// process handles one event, and returns the version that our patch has made. It
// releases the generation, which the caller holds.
func (p *processor) process(ctx context.Context, it item, q *queue) (version string) {
	version, again := p.processed(ctx, it, q)
	if again {
		return p.again(ctx, it, q)
	}
	it.drop() // whatever has happened: others must not wait for ever
	if it.Type == watching.Deleted {
		p.memories.forget(it.Meta.Key())
	}
	return version
}

// processed returns true if the event is to be handled from the start, as the handlers
// have been replaced, or may have been while the object was throttled.
func (p *processor) processed(ctx context.Context, it item, q *queue) (version string, again bool) {
	if p.runnables.isClosed() {
		p.generation.release()
		return "", false // the next start lists the object
	}
	var c *cause
	defer func() {
		if c == nil {
			p.generation.release()
		} else {
			c.leave() // unless it has, to sleep
		}
	}()
	body, err := dicts.DecodeParts(it.Object, p.handlers.kept)
	if err != nil {
		p.log.Error().Err(err).Str("uid", it.Meta.UID).Msg("an object cannot be decoded")
		return "", false
	}
	memory := p.memories.recall(it.Meta.Key(), it.Type == watching.Listed)
	memory.follow(p.generation)
	crowded := memory.background.follow(p.memories.account, it.Object)
	if it.Type == watching.Deleted {
		p.completion.done(it.Meta.Key())
	}
	c = &cause{
		resource: &p.resource, queue: q, raw: it.Object, body: body, memory: memory, base: p.memories.base, account: p.memories.account,
		patch: newPatch(memory.remaining), log: objectLogger(&p.log, p.refKey, body), events: p.events, indices: p.indices,
		caller: p.caller, generation: p.generation, crowded: crowded,
	}
	c.log.post = p.events.logged
	if it.Type != watching.Listed {
		c.eventType = &it.Type
	}
	c.again = it.again
	replaced := false
	throttled := memory.throttler.run(ctx, q, c.log, p.settings.Queueing.ErrorDelays, c.leave, func() error {
		err := p.index(ctx, c, it)
		if it.indexed != nil {
			it.indexed()
		}
		if err != nil {
			return err
		}
		switch err := q.unhurried(ctx, p.indexed.isOpen(), p.indexed.wait); {
		case errors.Is(err, errReplaced):
			replaced = true
			return nil
		case err != nil:
			return err
		}
		version, err = p.cycle(ctx, c, it)
		return err
	})
	return version, throttled || replaced
}

// cycle calls the handlers that are due, then applies what they have left.
//
// What was left over from an earlier cycle goes first, and the event of it brings the
// next cycle. But if it has changed nothing any more, as the request had reached the
// server though its answer was lost, no event will come: then the handling goes on.
// It survives a cycle that fails before it was applied, unless it is the reason.
func (p *processor) cycle(ctx context.Context, c *cause, it item) (version string, err error) {
	earlier := c.memory.remaining
	c.memory.remaining = nil
	if len(p.handlers.spawning) > 0 {
		c.spawned = &spawned{}
		defer c.spawned.free()
	}
	clean := c.patch.empty()
	delays, matched, err := p.handle(ctx, c, it)
	for err == nil && it.Type != watching.Deleted {
		var done application
		c.spawned.start()
		done, err = p.applier.apply(ctx, c, delays)
		if done.idle && matched {
			c.log.debug("Handling cycle is finished, waiting for new changes.")
		}
		version, c.memory.remaining = done.version, done.remaining
		outdated := time.Now().Before(it.consistentAt) // a newer state is waited for
		if err == nil && (done.idle && !outdated || done.gone) {
			p.completion.done(it.Meta.Key())
		}
		if clean || err != nil || done.gone || done.version != "" || len(done.remaining) > 0 {
			break
		}
		c.patch.release(context.WithoutCancel(ctx), 0)
		c.patch, clean, earlier = newPatch(nil), true, nil
		delays, matched, err = p.handleState(ctx, c, it, clean)
	}
	if err != nil && ctx.Err() == nil && it.Type != watching.Deleted && !errors.Is(err, errTransformation) {
		c.memory.remaining = earlier
	}
	c.patch.release(context.WithoutCancel(ctx), len(c.memory.remaining))
	return version, err
}

// handle is the decision of the cycle: raw events first, then daemons and timers,
// then the state of the object. It returns when the next handlers are due, and
// whether there are any for this change.
func (p *processor) handle(ctx context.Context, c *cause, it item) ([]time.Duration, bool, error) {
	clean := c.patch.empty()
	if err := p.handleEvent(ctx, c); err != nil {
		return nil, false, err
	}
	return p.handleState(ctx, c, it, clean)
}

// handleState keeps daemons and the finalizer in order, then calls the handlers of
// changes: but not on a state that may be outdated.
func (p *processor) handleState(ctx context.Context, c *cause, it item, clean bool) ([]time.Duration, bool, error) {
	change, err := p.detectChange(c, it)
	if err != nil {
		return nil, false, err
	}
	delays, err := p.handleBackground(ctx, c, it, len(change.diff) > 0)
	if err != nil {
		return nil, false, err
	}
	if change, err = p.unlessStranger(ctx, change); err != nil {
		return nil, false, err
	}
	changed, err := p.guardDeletion(ctx, c, change)
	if err != nil || changed {
		return delays, false, err
	}
	switch {
	case change == nil:
		// Nothing but daemons to wait for.
	case !it.consistentAt.IsZero() && change.reason != causes.Gone:
		return p.handleLater(ctx, c, it, clean, delays)
	case !clean:
		return delays, false, nil
	default:
		more, err := p.handleChange(ctx, change)
		if err != nil {
			return nil, true, err
		}
		delays = append(delays, more...)
	}
	if it.Type != watching.Deleted && c.deleted() && p.isBlocked(c) && len(delays) == 0 {
		c.log.debug("Removing the finalizer, thus allowing the actual deletion.")
		c.patch.add(inPlace(causes.AllowDeletion, p.settings.Persistence.Finalizer))
	}
	return delays, change != nil, nil
}

// handleLater waits for the version of our last patch: newer events bring it, and
// are handled in place of this one. If none come in time, the object is read, as
// the watch may be late for long. If something is to be patched anyway, that is
// done first.
func (p *processor) handleLater(ctx context.Context, c *cause, it item, clean bool, delays []time.Duration) ([]time.Duration, bool, error) {
	if !c.patch.empty() {
		return delays, false, nil
	}
	c.spawned.free()
	if c.queue.sleep(ctx, time.Until(it.consistentAt)) > 0 {
		return delays, false, nil
	}
	fresh, err := p.applier.read(ctx, c, p.handlers.kept)
	if err != nil || fresh == nil {
		return nil, false, err
	}
	c.raw, c.body = fresh.raw, fresh.body
	it.consistentAt = time.Time{}
	return p.handleState(ctx, c, it, clean)
}

// handleEvent calls the handlers of raw events: all of them, at once, without any
// traces on the object but their own patches and results.
func (p *processor) handleEvent(ctx context.Context, c *cause) error {
	if len(p.handlers.watching) == 0 || c.again {
		return nil
	}
	spied := *c
	spied.log = c.log.local()
	spied.spying = true
	selected, err := spied.match(ctx, p.handlers.watching)
	if err != nil {
		return err
	}
	selected = deduplicated(selected)
	x := &execution{settings: p.settings, runnables: p.runnables, completion: p.completion, lifecycle: progression.AllAtOnce, errors: modeIgnored}
	state := progression.State{}.WithHandlers(idsOf(selected), time.Now())
	outcomes, err := x.run(ctx, selected, &spied, state)
	if err != nil {
		return err
	}
	return progression.DeliverResults(forState(outcomes), &c.patch.merge)
}

// guardDeletion keeps the finalizer in step with what the handlers require. A
// cycle that changes the finalizer does nothing else.
func (p *processor) guardDeletion(ctx context.Context, c, change *cause) (changed bool, err error) {
	finalizer := p.settings.Persistence.Finalizer
	required, err := p.requiresFinalizer(ctx, c, change)
	if err != nil {
		return false, err
	}
	blocked := p.isBlocked(c)
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
func (p *processor) requiresFinalizer(ctx context.Context, c, change *cause) (bool, error) {
	required, err := c.matchesAny(ctx, p.living(c, true))
	if err == nil && !required && change != nil {
		required, err = change.prematchesAny(ctx, p.handlers.requiring)
	}
	return required, err
}

func (p *processor) isBlocked(c *cause) bool {
	return causes.DeletionBlocked(c.body, p.settings.Persistence.Finalizer)
}

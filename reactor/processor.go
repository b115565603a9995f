package reactor

import (
	"context"
	"errors"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// processor handles the events of the objects of one resource with the handlers of one
// generation.
//
// An event walks through it once: process (what the worker of the object does: it waits,
// patches and reads), decide (which handlers are called, and what they leave), and back.
//
// Kopf: kopf._core.reactor.processing (v1.45).
type processor struct {
	resource   selectors.Resource
	generation *generation // held by each event
	handlers   *resourceHandlers
	settings   *settings.Settings
	memories   *memories
	engine     *engine // of daemons and timers
	writer     *writer
	runnables  *runnables
	completion *completion
	log        zerolog.Logger
	refKey     string
}

// process handles one event, and returns the version that our patch has made. It
// releases the generation, which the caller holds. It returns true if the event is to be
// handled from the start, by the handlers that are there by then: these ones have been
// replaced, or may have been while the object was throttled.
func (p *processor) process(ctx context.Context, it item, q *queue) (version string, again bool) {
	version, again = p.processed(ctx, it, q)
	if again {
		return "", true
	}
	it.drop() // whatever has happened: others must not wait for ever
	if it.Type == watching.Deleted {
		p.memories.forget(it.Meta.Key())
	}
	return version, false
}

func (p *processor) processed(ctx context.Context, it item, q *queue) (version string, again bool) {
	if p.runnables.isClosed() {
		p.generation.release()
		return "", false // the next start lists the object
	}
	c, err := p.newCycle(it, q)
	defer c.release() // unless it has, to sleep
	if err != nil {
		p.log.Error().Err(err).Str("uid", it.Meta.UID).Msg("an object cannot be decoded")
		return "", false
	}
	if c.memory.throttler.isOn() {
		return "", c.throttled(ctx)
	}
	version, err = c.run(ctx)
	if errors.Is(err, errReplaced) {
		return "", true
	}
	if c.memory.throttler.judge(ctx, err, c.log, p.settings.Queueing.ErrorDelays) {
		c.throttled(ctx)
	}
	return version, false
}

// newCycle begins the handling of an event. The cycle is to be released, even if there is
// an error.
func (p *processor) newCycle(it item, q *queue) (*cycle, error) {
	c := &cycle{p: p, it: it, queue: q, held: p.generation}
	body, err := dicts.DecodeParts(it.Object, p.handlers.kept)
	if err != nil {
		return c, err
	}
	c.memory = p.memories.recall(it.Meta.Key(), it.Type == watching.Listed)
	c.memory.follow(p.generation)
	c.crowded = c.memory.background.follow(p.memories.account, it.Object)
	if it.Type == watching.Deleted {
		p.completion.done(it.Meta.Key())
	}
	of := p.generation.services
	log := objectLogger(&p.log, p.refKey, body)
	log.post = of.events.logged
	c.object = &object{services: of, resource: &p.resource, raw: it.Object, body: body, memo: c.memory.memo, patch: newPatch(c.memory.remaining), log: log, slot: c}
	if it.Type != watching.Listed {
		c.eventType = &it.Type
	}
	return c, nil
}

// execution calls handlers in a cycle.
func (p *processor) execution(lifecycle progression.Lifecycle, mode errorsMode) *execution {
	return &execution{settings: p.settings, entrance: p.runnables, completion: p.completion, lifecycle: lifecycle, errors: mode}
}

func (p *processor) isBlocked(o *object) bool {
	return causes.DeletionBlocked(o.body, p.settings.Persistence.Finalizer)
}

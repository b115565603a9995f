package processing

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/completion"
	"github.com/kopf-wasm/kopf/reactor/daemons"
	"github.com/kopf-wasm/kopf/reactor/generations"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/loops"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/watching"
	"github.com/kopf-wasm/kopf/stores"
)

// Processor handles the events of the objects of one resource with the handlers of one
// generation.
//
// Each event has a cycle, which waits, patches and reads (cycle.go), and calls the handlers
// that are chosen without it (decision.go).
//
// Kopf: kopf._core.reactor.processing (v1.45).
type Processor struct {
	Resource   selectors.Resource
	Generation *generations.Generation // held by each event
	Handlers   *registries.Handlers
	Settings   *settings.Settings
	Memories   *Memories
	Engine     *daemons.Engine // of daemons and timers
	Writer     *patching.Writer
	Runnables  *daemons.Runnables
	Entrance   handling.Entrance // of handlers
	Completion *completion.Completion
	Loops      *loops.Limiter // nil: no limit
	Log        zerolog.Logger
	RefKey     string
}

// Process handles one event, and returns the version that the patch has created. It
// releases the generation, which the caller holds. It returns true if the event must be
// handled again from the start by the current handlers: the generation was replaced, or
// may have been replaced while the object was throttled.
func (p *Processor) Process(ctx context.Context, it queueing.Item, q *queueing.Queue) (version string, again bool) {
	version, handled, again := p.processed(ctx, it, q)
	if again {
		return "", true
	}
	it.Drop() // in any case: others wait for the item
	switch {
	case it.Type != watching.Deleted:
	case !handled || ctx.Err() != nil: // maybe failed or cancelled before its daemons were stopped
		p.Abandon(ctx, it.Meta.Key())
	default:
		p.Memories.forget(it.Meta.Key())
	}
	return version, false
}

// Abandon does for an object that is gone what must be done without an event: it stops its
// daemons and timers, and forgets it. No other worker of the object may run.
func (p *Processor) Abandon(ctx context.Context, key string) {
	item := p.forget(ctx, key)
	if item == nil {
		return // its deletion was handled
	}
	if running := item.background.Load(); running != nil {
		p.Engine.Bury(running)
	}
	p.Generation.Services.Indices.Discard(key)
	p.Completion.Done(key)
}

// LetGo ends the work on an object that belongs to another replica from now on: it stops the daemons and timers of the object,
// waits for their end, and forgets the object. Indices keep it. No other worker of the object may run.
func (p *Processor) LetGo(ctx context.Context, key string) {
	item := p.forget(ctx, key)
	if item == nil {
		return
	}
	if running := item.background.Load(); running != nil {
		running.Retire()
	}
}

// forget forgets an object, and releases what was left over for a next cycle, which does not come.
func (p *Processor) forget(ctx context.Context, key string) *memory {
	item := p.Memories.forget(key)
	if item != nil {
		item.drop(context.WithoutCancel(ctx))
	}
	return item
}

// processed is Process, and reports whether the event was handled without an error.
func (p *Processor) processed(ctx context.Context, it queueing.Item, q *queueing.Queue) (version string, handled, again bool) {
	if p.Runnables.IsClosed() {
		p.Generation.Release()
		return "", false, false // the next start lists the object again
	}
	c, err := p.newCycle(ctx, it, q)
	defer c.release() // unless it was released before a sleep
	if err != nil {
		p.Log.Error().Err(err).Str("uid", it.Meta.UID).Msg("an object cannot be decoded")
		p.Completion.Fail()
		p.Completion.Done(it.Meta.Key())
		return "", false, false
	}
	span := c.Trace(ctx)
	defer span.End()
	ctx = span.In(ctx)
	if !c.memory.throttledUntil().IsZero() {
		if c.it.Indexed != nil {
			_ = c.index(ctx) // all handlers wait for it; after the throttling, it is repeated
		}
		return "", false, c.throttled(ctx)
	}
	chain := c.memory.chain // a worker of another version can end it meanwhile
	if pause := p.Loops.Pause(chain, time.Now()); c.own && pause > 0 {
		c.slowDown(ctx, chain, pause)
		return "", false, true
	}
	version, err = c.run(ctx)
	if err != nil {
		span.Fail(err.Error())
	}
	if errors.Is(err, indexing.ErrReplaced) {
		return "", false, true
	}
	if errors.Is(err, queueing.ErrLost) {
		return "", false, false // the end of the work on the object follows
	}
	if err == nil && version == "" && c.it.ConsistentAt.IsZero() && !c.waits {
		c.memory.chain = nil // no event follows
	}
	return version, c.settled(ctx, err), false
}

// newCycle begins the handling of an event. The caller must release the cycle, even after
// an error.
func (p *Processor) newCycle(ctx context.Context, it queueing.Item, q *queueing.Queue) (c *cycle, err error) {
	c = &cycle{p: p, it: it, queue: q, held: p.Generation, own: it.Awaited != "" && it.Awaited == it.Meta.ResourceVersion}
	of := p.Generation.Services
	var body dicts.Object
	if of.Work(ctx, len(it.Object), func() { body, err = p.Decode(it.Object) }); err != nil {
		return c, err
	}
	c.memory = p.Memories.recall(it.Meta.Key(), it.Type == watching.Listed || it.Early || it.Standby)
	c.memory.follow(p.Generation)
	if running := c.memory.background.Load(); running != nil {
		c.crowded = running.Follow(p.Memories.Account, it.Object)
	}
	if it.Type == watching.Deleted {
		p.Completion.Done(it.Meta.Key())
	}
	log := loggers.ForObject(&p.Log, p.RefKey, body)
	log.Post = of.Events
	c.Object = &handling.Object{Services: of, Resource: &p.Resource, Raw: it.Object, Body: body, Memo: c.memory.memo, Patch: patching.New(c.memory.remaining(p.Resource.Key())), Log: log, Slot: c}
	if it.Type != watching.Listed {
		c.EventType = &c.it.Type
	}
	return c, nil
}

// Decode decodes the parts of a body that the host reads. Parts that it only compares and
// stores stay text.
func (p *Processor) Decode(raw []byte) (dicts.Object, error) {
	if !stores.AreOwn(p.Settings.Persistence.Progress, p.Settings.Persistence.DiffBase) {
		return dicts.DecodeParts(raw, p.Handlers.Kept)
	}
	body, err := dicts.DecodeBody(raw, p.Handlers.Kept)
	if err == nil {
		dicts.Fold(body)
	}
	return body, err
}

// Execution makes the execution of handlers in a cycle.
func (p *Processor) Execution(lifecycle progression.Lifecycle, mode handling.ErrorsMode) *handling.Execution {
	return &handling.Execution{Settings: p.Settings, Entrance: p.Entrance, Completion: p.Completion, Lifecycle: lifecycle, Errors: mode}
}

func (p *Processor) isBlocked(o *handling.Object) bool {
	return causes.DeletionBlocked(o.Body, p.Settings.Persistence.Finalizer)
}

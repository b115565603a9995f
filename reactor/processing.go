package reactor

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/diffs"
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
	resource  selectors.Resource
	handlers  *resourceHandlers
	settings  *settings.Settings
	memories  *memories
	applier   *applier
	lifecycle progression.Lifecycle
	log       zerolog.Logger
	refKey    string
	events    *events
	tasks     *sync.WaitGroup // daemons and timers
	indices   *indexing.Indices
	indexed   *gate // open when the indices are complete
}

// process handles one event, and returns the version that our patch has made.
func (p *processor) process(ctx context.Context, it item, q *queue) (version string) {
	if it.indexed != nil {
		defer it.indexed() // whatever happens: others must not wait for ever
	}
	body, err := dicts.DecodeObject(it.Object)
	if err != nil {
		p.log.Error().Err(err).Str("uid", it.Meta.UID).Msg("an object cannot be decoded")
		return ""
	}
	memory := p.memories.recall(it.Meta.Key(), it.Type == watching.Listed)
	if memory.background.live.Load() != nil {
		memory.background.live.Store(&document{it.Object, body})
	}
	if it.Type == watching.Deleted {
		p.memories.forget(it.Meta.Key())
	}
	c := &cause{
		resource: &p.resource, raw: it.Object, body: body, memory: memory, base: p.memories.base,
		patch: newPatch(memory.remaining), log: objectLogger(p.log, p.refKey, body), events: p.events, indices: p.indices,
	}
	c.log.post = p.events.logged
	if it.Type != watching.Listed {
		c.eventType = &it.Type
	}
	memory.throttler.run(ctx, q, c.log, p.settings.Queueing.ErrorDelays, func() error {
		err := p.index(ctx, c, it)
		if it.indexed != nil {
			it.indexed()
		}
		if err != nil {
			return err
		}
		if err := q.owner.unhurried(ctx, p.indexed.wait); err != nil {
			return err
		}
		version, err = p.cycle(ctx, c, it, q)
		return err
	})
	return version
}

// cycle calls the handlers that are due, then applies what they have left.
func (p *processor) cycle(ctx context.Context, c *cause, it item, q *queue) (version string, err error) {
	c.memory.remaining = nil
	delays, matched, err := p.handle(ctx, c, it, q)
	if err == nil && it.Type != watching.Deleted {
		var done application
		done, err = p.applier.apply(ctx, c, delays, q)
		if done.idle && matched {
			c.log.debug("Handling cycle is finished, waiting for new changes.")
		}
		version, c.memory.remaining = done.version, done.remaining
	}
	if len(c.memory.remaining) == 0 {
		c.patch.release(context.WithoutCancel(ctx))
	}
	return version, err
}

// handle is the decision of the cycle: raw events first, then daemons and timers,
// then the state of the object. It returns when the next handlers are due, and
// whether there are any for this change.
func (p *processor) handle(ctx context.Context, c *cause, it item, q *queue) ([]time.Duration, bool, error) {
	clean := c.patch.empty()
	if err := p.handleEvent(ctx, c); err != nil {
		return nil, false, err
	}
	return p.handleState(ctx, c, it, q, clean)
}

// handleState keeps daemons and the finalizer in order, then calls the handlers of
// changes: but not on a state that may be outdated.
func (p *processor) handleState(ctx context.Context, c *cause, it item, q *queue, clean bool) ([]time.Duration, bool, error) {
	change, err := p.detectChange(c, it)
	if err != nil {
		return nil, false, err
	}
	delays, err := p.handleBackground(ctx, c, it, len(change.diff) > 0, q)
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
		return p.handleLater(ctx, c, it, q, clean, delays)
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
func (p *processor) handleLater(ctx context.Context, c *cause, it item, q *queue, clean bool, delays []time.Duration) ([]time.Duration, bool, error) {
	if !c.patch.empty() || q.sleep(ctx, time.Until(it.consistentAt)) > 0 {
		return delays, false, nil
	}
	fresh, err := p.applier.read(ctx, c)
	if err != nil || fresh == nil {
		return nil, false, err
	}
	c.raw, c.body = fresh.raw, fresh.body
	it.consistentAt = time.Time{}
	return p.handleState(ctx, c, it, q, clean)
}

// handleEvent calls the handlers of raw events: all of them, at once, without any
// traces on the object but their own patches and results.
func (p *processor) handleEvent(ctx context.Context, c *cause) error {
	if len(p.handlers.watching) == 0 {
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
	x := &execution{settings: p.settings, lifecycle: progression.AllAtOnce, errors: modeIgnored}
	state := progression.State{}.WithHandlers(idsOf(selected), time.Now())
	outcomes, err := x.run(ctx, selected, &spied, state)
	if err != nil {
		return err
	}
	return progression.DeliverResults(forState(outcomes), &c.patch.merge)
}

// detectChange finds out what has happened to the object.
func (p *processor) detectChange(c *cause, it item) (*cause, error) {
	change := *c
	change.changing = true
	if len(p.handlers.changing)+len(p.handlers.spawning) == 0 {
		return &change, nil // nobody wants to know
	}
	old, new, err := p.essences(c.body)
	if err != nil {
		return nil, err
	}
	change.old, change.new = anyOf(old), anyOf(new)
	change.diff = diffs.Compute(change.old, change.new, diffs.Full)
	detected := causes.Detect(causes.Observation{
		EventType: it.Type, Body: c.body, Finalizer: p.settings.Persistence.Finalizer, Old: old, Diff: change.diff,
		Initial: c.memory.noticedByListing && !c.memory.handledOnce,
	})
	change.reason, change.initial = detected.Reason, detected.Initial
	return &change, nil
}

// unlessStranger drops the change if no handler is interested in the object at
// all: then nothing is logged and nothing stored.
func (p *processor) unlessStranger(ctx context.Context, change *cause) (*cause, error) {
	matched, err := change.prematch(ctx, p.handlers.changing)
	if err != nil || len(matched) == 0 {
		return nil, err
	}
	return change, nil
}

// anyOf keeps a missing essence nil: an interface with a nil map is not nil.
func anyOf(essence dicts.Object) any {
	if essence == nil {
		return nil
	}
	return essence
}

// essences are the last handled one, and the current one.
func (p *processor) essences(body dicts.Object) (old, new dicts.Object, err error) {
	storage, progress := p.settings.Persistence.DiffBase, p.settings.Persistence.Progress
	if old, err = storage.Fetch(body); err != nil {
		return nil, nil, err
	}
	if new, err = storage.Build(body, p.handlers.extra); err != nil {
		return nil, nil, err
	}
	if old != nil {
		if old, err = progress.Clear(old); err != nil {
			return nil, nil, err
		}
	}
	new, err = progress.Clear(new)
	return old, new, err
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
	requiring, err := c.match(ctx, p.living(c))
	if err == nil && len(requiring) == 0 && change != nil {
		requiring, err = change.prematch(ctx, p.handlers.requiring)
	}
	return len(requiring) > 0, err
}

func (p *processor) isBlocked(c *cause) bool {
	return causes.DeletionBlocked(c.body, p.settings.Persistence.Finalizer)
}

// handleChange calls the handlers of a change, and keeps their progress.
func (p *processor) handleChange(ctx context.Context, c *cause) ([]time.Duration, error) {
	if !c.reason.Handled() {
		c.log.debug(informational[c.reason])
		return nil, nil
	}
	selected, err := p.selectChanging(ctx, c)
	if err != nil {
		return nil, err
	}
	storage := p.settings.Persistence.Progress
	now := time.Now()
	state, err := progression.FromStorage(c.body, storage, p.handlers.owned, now)
	if err != nil {
		return nil, err
	}
	state = state.WithPurpose(string(c.reason)).WithHandlers(idsOf(selected), now)
	if state, err = p.supersede(c, state, selected); err != nil {
		return nil, err
	}
	p.logChange(c)
	if len(selected) == 0 {
		return nil, p.concludeChange(c)
	}
	if err := p.checkFit(c); err != nil && c.reason != causes.Delete {
		return nil, err
	}
	x := &execution{settings: p.settings, lifecycle: p.lifecycle, errors: modeTemporary}
	outcomes, err := x.run(ctx, selected, c, state)
	if err != nil {
		return nil, err
	}
	if state, err = x.record(c, state, outcomes); err != nil {
		return nil, err
	}
	if !state.Done() {
		return state.Delays(time.Now()), nil
	}
	counts := state.Counts()
	c.log.info(fmt.Sprintf("%s is processed: %d succeeded; %d failed.", capitalized(c.reason.Title()), counts.Success, counts.Failure))
	if err := state.Purge(c.body, &c.patch.merge, storage, p.handlers.owned); err != nil {
		return nil, err
	}
	return nil, p.concludeChange(c)
}

// informational are the messages of causes without handlers.
var informational = map[causes.Reason]string{
	causes.Gone: "Deleted, really deleted, and we are notified.",
	causes.Free: "Deletion, but we are done with it, and we do not care.",
	causes.Noop: "Something has changed, but we are not interested (the essence is the same).",
}

// selectChanging selects the handlers for a change: those of its reason, those
// of any reason, and those of resuming if the object was not resumed yet.
func (p *processor) selectChanging(ctx context.Context, c *cause) ([]*Handler, error) {
	candidates := slices.DeleteFunc(slices.Clone(p.handlers.changing), func(h *Handler) bool {
		return h.reason != "" && h.reason != c.reason ||
			h.initial && !c.initial ||
			h.initial && c.deleted() && !h.Spec.Deleted
	})
	matched, err := c.match(ctx, candidates)
	return deduplicated(matched), err
}

// supersede takes over the progress of an earlier reason that was not finished.
func (p *processor) supersede(c *cause, state progression.State, selected []*Handler) (progression.State, error) {
	for _, extra := range state.Extras() {
		c.log.info(fmt.Sprintf("%s is superseded by %s: %d succeeded; %d failed; %d left to the moment.",
			capitalized(causes.Reason(extra.Purpose).Title()), c.reason.Title(),
			extra.Counts.Success, extra.Counts.Failure, extra.Counts.Running))
		state = state.WithPurpose(string(c.reason), idsOf(selected)...)
	}
	if len(state.Extras()) == 0 {
		return state, nil
	}
	return state, state.Purge(c.body, &c.patch.merge, p.settings.Persistence.Progress, p.handlers.owned)
}

func (p *processor) logChange(c *cause) {
	if p.log.GetLevel() > zerolog.DebugLevel {
		return // the texts below are long
	}
	title := capitalized(c.reason.Title())
	c.log.debug(fmt.Sprintf("%s is in progress: %s", title, c.raw))
	if len(c.diff) > 0 && c.old != nil && c.new != nil {
		c.log.debug(fmt.Sprintf("%s diff: %s", title, dicts.Encode(c.diff.JSON())))
	}
}

// concludeChange stores what was handled, so that the next change is seen.
func (p *processor) concludeChange(c *cause) error {
	c.memory.handledOnce = true
	essence, ok := c.new.(dicts.Object)
	if !ok || dicts.Equal(c.old, c.new) {
		return nil
	}
	if c.reason == causes.Delete && p.checkFit(c) != nil {
		return nil // nobody will look at it, and the object would never go away
	}
	return p.settings.Persistence.DiffBase.Store(c.body, &c.patch.merge, essence)
}

func capitalized(text string) string { return string(text[0]-'a'+'A') + text[1:] }

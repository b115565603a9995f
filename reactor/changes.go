package reactor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/diffs"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/stores"
)

// detect finds out what has happened to the object.
func (p *processor) detect(c *cycle) (*cause, error) {
	if len(p.handlers.changing)+len(p.handlers.spawning) == 0 {
		return newCause(c.object, &change{}), nil // nobody wants to know
	}
	old, new, err := p.essences(c.body)
	if err != nil {
		return nil, err
	}
	k := &change{old: anyOf(old), new: anyOf(new)}
	k.diff = diffs.Compute(k.old, k.new, diffs.Full)
	detected := causes.Detect(causes.Observation{
		EventType: c.it.Type, Body: c.body, Finalizer: p.settings.Persistence.Finalizer, Old: old, Diff: k.diff,
		Initial: c.memory.noticedByListing && !c.memory.handledOnce,
	})
	k.reason, k.initial = detected.Reason, detected.Initial
	return newCause(c.object, k), nil
}

// unlessStranger drops the change if no handler is interested in the object at
// all: then nothing is logged and nothing stored.
func (p *processor) unlessStranger(ctx context.Context, change *cause) (*cause, error) {
	interesting, err := change.prematchesAny(ctx, p.handlers.changing)
	if err != nil || !interesting {
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
	if new, err = storage.Build(body, p.handlers.extra); err != nil {
		return nil, nil, err
	}
	if new, err = progress.Clear(new); err != nil {
		return nil, nil, err
	}
	if holder, ok := storage.(stores.EssenceHolder); ok && holder.Holds(body, new) {
		return new, new, nil
	}
	if old, err = storage.Fetch(body); err != nil || old == nil {
		return nil, new, err
	}
	old, err = progress.Clear(old)
	return old, new, err
}

// handleChange calls the handlers of a change, and keeps their progress.
func (p *processor) handleChange(ctx context.Context, m *memory, c *cause) ([]time.Duration, error) {
	reason := c.change().reason
	if !reason.Handled() {
		c.log.debug(informational[reason])
		return nil, nil
	}
	if m.stateLoss.isEndless(c) {
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
	state = state.WithPurpose(string(reason)).WithHandlers(idsOf(selected), now)
	if state, err = p.supersede(c, state, selected); err != nil {
		return nil, err
	}
	p.logChange(c)
	if len(selected) == 0 {
		return nil, p.conclude(m, c)
	}
	if err := p.checkFits(c, state); err != nil && reason != causes.Delete {
		return nil, err
	}
	x := p.execution(p.generation.lifecycle, modeTemporary)
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
	c.log.info(fmt.Sprintf("%s is processed: %d succeeded; %d failed.", capitalized(reason.Title()), counts.Success, counts.Failure))
	if err := state.Purge(c.body, &c.patch.merge, storage, p.handlers.owned); err != nil {
		return nil, err
	}
	return nil, p.conclude(m, c)
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
	k := c.change()
	candidates := slices.DeleteFunc(slices.Clone(p.handlers.changing), func(h *Handler) bool {
		return h.reason != "" && h.reason != k.reason ||
			h.initial && !k.initial ||
			h.initial && c.deleted() && !h.Spec.Deleted
	})
	matched, err := c.match(ctx, candidates)
	return deduplicated(matched), err
}

// supersede takes over the progress of an earlier reason that was not finished.
func (p *processor) supersede(c *cause, state progression.State, selected []*Handler) (progression.State, error) {
	reason := c.change().reason
	for _, extra := range state.Extras() {
		c.log.info(fmt.Sprintf("%s is superseded by %s: %d succeeded; %d failed; %d left to the moment.",
			capitalized(causes.Reason(extra.Purpose).Title()), reason.Title(),
			extra.Counts.Success, extra.Counts.Failure, extra.Counts.Running))
		state = state.WithPurpose(string(reason), idsOf(selected)...)
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
	k := c.change()
	title := capitalized(k.reason.Title())
	c.log.debug(fmt.Sprintf("%s is in progress: %s", title, c.raw))
	if len(k.diff) > 0 && k.old != nil && k.new != nil {
		c.log.debug(fmt.Sprintf("%s diff: %s", title, dicts.Encode(k.diff.JSON())))
	}
}

// conclude stores what was handled, so that the next change is seen.
func (p *processor) conclude(m *memory, c *cause) error {
	m.handledOnce = true
	k := c.change()
	essence, ok := k.new.(dicts.Object)
	if !ok || dicts.Equal(k.old, k.new) {
		return nil
	}
	if k.reason == causes.Delete && p.checkFits(c, progression.State{}) != nil {
		return nil // nobody will look at it, and the object would never go away
	}
	if k.reason == causes.Create {
		m.stateLoss.stored(essence)
	}
	return p.settings.Persistence.DiffBase.Store(c.body, &c.patch.merge, essence)
}

func capitalized(text string) string { return string(text[0]-'a'+'A') + text[1:] }

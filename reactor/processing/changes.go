package processing

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/diffs"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/stores"
)

// detect detects what has happened to the object.
func (p *Processor) detect(ctx context.Context, c *cycle) (*handling.Cause, error) {
	if len(p.Handlers.Changing)+len(p.Handlers.Spawning) == 0 {
		return handling.NewCause(c.Object, &handling.Change{}), nil // no handler needs the reason
	}
	var k *handling.Change
	var err error
	c.Work(ctx, max(len(c.Raw), (len(p.Handlers.Extra)+len(p.Handlers.Inner))*recordWork), func() { // of which the essence has each field
		k, err = Detect(&p.Settings.Persistence, p.Handlers, causes.Observation{
			EventType: c.it.Type, Body: c.Body, Initial: c.memory.noticedByListing && !c.memory.handledOnce,
		})
	})
	if err != nil {
		return nil, err
	}
	return handling.NewCause(c.Object, k), nil
}

// Detect compares the body of an observation with the last handled state on it, and returns
// the change with its reason. It sets the other fields of the observation. The fields that
// the handlers watch belong to the state.
//
// Errors: a stores.CorruptedError, and those of the storages; dicts.ErrNotObject if a parent
// of a watched field is not an object.
func Detect(of *settings.Persistence, handlers *registries.Handlers, o causes.Observation) (*handling.Change, error) {
	for _, field := range handlers.Inner { // storages are not asked for them
		if _, _, err := dicts.Resolve(o.Body, field); err != nil {
			return nil, fmt.Errorf("taking the field %s into the essence: %w", field, err)
		}
	}
	old, new, unchanged, err := essences(of, handlers.Extra, o.Body)
	if err != nil {
		return nil, err
	}
	k := &handling.Change{Old: dicts.OrNil(old), New: dicts.OrNil(new)}
	if !unchanged {
		k.Diff = diffs.Compute(k.Old, k.New, diffs.Full)
	}
	o.Finalizer, o.Old, o.Diff = of.Finalizer, old, k.Diff
	detected := causes.Detect(o)
	k.Reason, k.Initial = detected.Reason, detected.Initial
	return k, nil
}

// unlessIrrelevant drops the change if no handler matches the object at all. The operator
// then logs and stores nothing.
func (p *Processor) unlessIrrelevant(ctx context.Context, change *handling.Cause) (*handling.Cause, error) {
	interesting, err := change.PrematchesAny(ctx, p.Handlers.Changing)
	if err != nil || !interesting {
		return nil, err
	}
	return change, nil
}

// essences returns the last handled essence and the current one, and whether they are
// certainly equal.
func essences(of *settings.Persistence, extra []dicts.Path, body dicts.Object) (old, new dicts.Object, unchanged bool, err error) {
	storage, progress := of.DiffBase, of.Progress
	if new, err = storage.Build(body, extra); err != nil {
		return nil, nil, false, err
	}
	if new, err = progress.Clear(new); err != nil {
		return nil, nil, false, err
	}
	if stores.AreOwn(progress, storage) {
		dicts.Fold(new) // fields of the status are copies, and decoded
	}
	if holder, ok := storage.(stores.EssenceHolder); ok && holder.Holds(body, new) {
		return new, new, true, nil
	}
	if old, err = storage.Fetch(body); err != nil || old == nil {
		return nil, new, false, err
	}
	old, err = progress.Clear(old)
	return old, new, false, err
}

// Costs of each handler of a change.
const (
	recordWork = 64      // bytes of a text that takes as long to read as its record: see Services.Work
	stateCost  = 1 << 10 // bytes of memory, while the object is handled
	fewStates  = 64      // that do not count: the body of the object does
	diffCost   = 300     // bytes of memory for each changed field: its item, and the old and the new value in decoded objects
)

// handleChange calls the handlers of a change, and stores their progress.
func (c *cycle) handleChange(ctx context.Context, changed *handling.Cause) ([]time.Duration, error) {
	p, m, reason := c.p, c.memory, changed.Change().Reason
	if !reason.Handled() {
		changed.Log.Debug(informational[reason])
		return nil, nil
	}
	selected, err := p.selectChanging(ctx, changed)
	if err != nil {
		return nil, err
	}
	storage := p.Settings.Persistence.Progress
	now := time.Now()
	records := len(p.Handlers.Owned) * recordWork
	var state progression.State
	c.Work(ctx, records, func() { state, err = progression.FromStorage(changed.Body, storage, p.Handlers.Owned, now) })
	if err != nil {
		return nil, err
	}
	held := max(0, len(selected)-fewStates)*stateCost + max(0, len(changed.Change().Diff)-fewStates)*diffCost
	if err := c.Account.Take(accounts.Pending, held); err != nil {
		return nil, err
	}
	defer c.Account.Give(accounts.Pending, held)
	fresh := len(state.IDs()) == 0
	if fresh && m.stateLoss.isEndless(changed) {
		return m.stateLoss.pause(reason), nil
	}
	state = state.WithPurpose(string(reason)).WithHandlers(registries.IDs(selected), now)
	if state, err = p.supersede(changed, state, selected); err != nil {
		return nil, err
	}
	p.logChange(changed)
	if len(selected) == 0 {
		return nil, p.conclude(m, changed)
	}
	if err := p.checkFits(changed, state); err != nil && reason != causes.Delete {
		return nil, err
	}
	if fresh {
		c.begins(selected)
	}
	x := p.Execution(p.Generation.Lifecycle, handling.ModeTemporary)
	outcomes, err := x.Run(ctx, selected, changed, state)
	if err != nil {
		return nil, err
	}
	c.Work(ctx, records, func() { state, err = x.RecordForPurge(changed, state, outcomes) })
	if err != nil {
		return nil, err
	}
	if !state.Done() {
		m.stateLoss.unfinished(changed.Change())
		return state.Delays(time.Now()), nil
	}
	counts := state.Counts()
	changed.Log.Info(fmt.Sprintf("%s is processed: %d succeeded; %d failed.", capitalized(reason.Title()), counts.Success, counts.Failure))
	c.Work(ctx, records, func() { err = state.Purge(changed.Body, &changed.Patch.Merge, storage, p.Handlers.Owned) })
	if err != nil {
		return nil, err
	}
	return nil, p.conclude(m, changed)
}

// informational are the messages for causes without handlers.
var informational = map[causes.Reason]string{
	causes.Gone: "Deleted, really deleted, and we are notified.",
	causes.Free: "Deletion, but we are done with it, and we do not care.",
	causes.Noop: "Something has changed, but we are not interested (the essence is the same).",
}

// selectChanging selects the handlers for a change: those of its reason, those of any
// reason, and those of resuming if the object has not been resumed yet.
func (p *Processor) selectChanging(ctx context.Context, c *handling.Cause) ([]*registries.Handler, error) {
	k := c.Change()
	candidates := slices.DeleteFunc(slices.Clone(p.Handlers.Changing), func(h *registries.Handler) bool {
		return !h.IsFor(causes.Cause{Reason: k.Reason, Initial: k.Initial}, c.Deleted())
	})
	return c.Match(ctx, candidates)
}

// supersede takes over the unfinished progress of an earlier reason.
func (p *Processor) supersede(c *handling.Cause, state progression.State, selected []*registries.Handler) (progression.State, error) {
	reason := c.Change().Reason
	for _, extra := range state.Extras() {
		c.Log.Info(fmt.Sprintf("%s is superseded by %s: %d succeeded; %d failed; %d left to the moment.",
			purposeTitle(extra.Purpose), reason.Title(),
			extra.Counts.Success, extra.Counts.Failure, extra.Counts.Running))
		state = state.WithPurpose(string(reason), registries.IDs(selected)...)
	}
	if len(state.Extras()) == 0 {
		return state, nil
	}
	return state, state.Purge(c.Body, &c.Patch.Merge, p.Settings.Persistence.Progress, p.Handlers.Owned)
}

func (p *Processor) logChange(c *handling.Cause) {
	if p.Log.GetLevel() > zerolog.DebugLevel {
		return // the texts below would be long
	}
	k := c.Change()
	title := capitalized(k.Reason.Title())
	c.Log.Debug(fmt.Sprintf("%s is in progress: %s", title, c.Raw))
	if len(k.Diff) > 0 && k.Old != nil && k.New != nil {
		c.Log.Debug(fmt.Sprintf("%s diff: %s", title, dicts.Encode(k.Diff.JSON())))
	}
}

// conclude stores the handled essence, so that the next change is detected.
func (p *Processor) conclude(m *memory, c *handling.Cause) error {
	m.handledOnce = true
	k := c.Change()
	essence, ok := k.New.(dicts.Object)
	if !ok || dicts.Equal(k.Old, k.New) {
		return nil
	}
	if k.Reason == causes.Delete && p.checkFits(c, progression.State{}) != nil {
		return nil // the change would have no effect, and the object would never disappear
	}
	m.stateLoss.concluded(k)
	return p.Settings.Persistence.DiffBase.Store(c.Body, &c.Patch.Merge, essence)
}

// purposeTitle begins a message with what a record was made for. Any client can write a record.
func purposeTitle(purpose string) string {
	if reason := causes.Reason(purpose); reason.Handled() {
		return capitalized(reason.Title())
	}
	return loggers.Quote(purpose)
}

func capitalized(text string) string { return string(text[0]-'a'+'A') + text[1:] }

package daemons

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/generations"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/pauses"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/stoppers"
	"github.com/kopf-wasm/kopf/reactor/tracing"
)

// Engine starts and stops the daemons and timers of the objects of one resource.
//
// Kopf: kopf._core.reactor.processing.process_spawning_cause (v1.45).
type Engine struct {
	Handlers   []*registries.Handler // daemons and timers
	Execution  *handling.Execution
	Writer     *patching.Writer
	Generation *generations.Generation // the generation of the handlers
	Runnables  *Runnables
	Pauses     *pauses.Pauses
	Settings   *settings.Settings

	// Decode decodes a body for an attempt. Calls of daemons can take long, so it should leave as text what is not needed.
	Decode func(raw []byte) (dicts.Object, error)
}

// Attendance is an object in a cycle, with its daemons and timers.
type Attendance struct {
	Cause   *handling.Cause
	Memory  *Memory
	Starts  *Starts
	Nudge   func() // ends the sleep of the object's worker
	Crowded error  // why the account refused to keep the body; nil: it did not
}

// CrowdedDelay is how long an object waits before it asks the account again to keep its
// body.
const CrowdedDelay = time.Minute

// Attend starts and stops the daemons and timers of an object, as their filters decide. It
// returns the times until ending ones must be checked again.
func (e *Engine) Attend(ctx context.Context, a *Attendance) ([]time.Duration, error) {
	if a.Cause.Deleted() {
		return e.stopAll(a.Memory.all(), abi.StopResourceDeleted), nil
	}
	matched, err := a.Cause.Match(ctx, e.living(ctx, a, false))
	if err != nil {
		return nil, err
	}
	crowded := a.Crowded
	for _, h := range matched {
		if crowded == nil && !e.Pauses.IsOn() { // if the operator pauses, the listing after the pause starts them
			crowded = e.Spawn(ctx, a, h)
		}
	}
	if crowded != nil {
		a.Cause.Log.Error(fmt.Sprintf("Daemons and timers of the object cannot run, and will be started again in %v seconds: %v", CrowdedDelay.Seconds(), crowded))
		return append(e.stopAll(a.Memory.all(), abi.StopFiltersMismatch), CrowdedDelay), nil
	}
	var mismatched []*daemon
	a.Cause.Work(ctx, len(matched)*lookup, func() {
		ids := registries.IDs(matched)
		slices.Sort(ids)
		mismatched = slices.DeleteFunc(a.Memory.all(), func(d *daemon) bool {
			_, matches := slices.BinarySearch(ids, d.handler.ID)
			return matches || d.generation != e.Generation.ID() // daemons of older generations stop in any case
		})
	})
	return e.stopAll(mismatched, abi.StopFiltersMismatch), nil
}

// Bury stops the daemons and timers of an object that is gone, in the background.
func (e *Engine) Bury(m *Memory) {
	for _, d := range m.all() {
		e.Runnables.whileOpen(func() { d.stop(abi.StopResourceDeleted) })
	}
}

// Guards reports whether daemons or timers must be stopped before the object is deleted.
func (e *Engine) Guards(ctx context.Context, a *Attendance) (bool, error) {
	return a.Cause.MatchesAny(ctx, e.living(ctx, a, true))
}

// lookup is the size of a text that takes as long to read as it takes to find the daemon of a handler, in bytes: see Services.Work.
const lookup = 64

// living returns the handlers that have not ended by themselves for this object. With
// guarding, it adds those for which the object still keeps its finalizer.
func (e *Engine) living(ctx context.Context, a *Attendance, guarding bool) (found []*registries.Handler) {
	a.Cause.Work(ctx, len(e.Handlers)*lookup, func() {
		found = slices.DeleteFunc(slices.Clone(e.Handlers), func(h *registries.Handler) bool {
			over, guarded := a.Memory.IsOver(h.ID)
			return over && (!guarding || !guarded)
		})
	})
	return found
}

// stopAll takes the next step to stop each of the daemons.
func (e *Engine) stopAll(daemons []*daemon, reason int) []time.Duration {
	var delays []time.Duration
	for _, d := range daemons {
		if delay := d.stopStep(e.Settings, reason); delay != nil {
			delays = append(delays, *delay)
		}
	}
	return delays
}

// Spawn creates a daemon or a timer, unless it runs already. It begins when the cycle
// starts it.
//
// Errors: accounts.ErrLimit, for the body or for the daemon.
func (e *Engine) Spawn(ctx context.Context, a *Attendance, h *registries.Handler) error {
	m := a.Memory
	if m.runs(h.ID) {
		return nil
	}
	own, s := a.Cause.Alone(), stoppers.New()
	working, cancel := context.WithCancel(tracing.Apart(context.WithoutCancel(ctx)))
	d := &daemon{
		handler: h, stopper: s, done: make(chan struct{}), log: &own.Log,
		instant: instantExit(e.Settings.Background), generation: e.Generation.ID(),
		kill: func() { cancel(); s.Force() },
	}
	if !m.add(d) {
		cancel()
		return nil
	}
	entered := e.Runnables.add(d)
	err := m.Follow(own.Account, a.Cause.Raw)
	if err != nil || !entered || e.Generation.IsReplaced() { // otherwise the exit or the replacement stops it
		cancel()
		s.Set(abi.StopOperatorExiting)
		m.ended(d, false)
		close(d.done)
		if entered {
			e.Runnables.remove(d)
		}
		return err
	}
	if e.Pauses.IsOn() { // the pause may have stopped all others before this one was added
		e.Runnables.pause(d)
	}
	e.Generation.Hold()
	b := &life{daemon: d, engine: e, memory: m, nudge: a.Nudge, cause: handling.NewCause(own, &handling.Daemon{Stopper: s, Live: m.newest})}
	b.patching = a.Starts.add(d, func() { go b.live(working, b.begin) })
	return nil
}

package reactor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// engine starts and stops the daemons and timers of the objects of one resource.
//
// Kopf: kopf._core.reactor.processing.process_spawning_cause (v1.45).
type engine struct {
	handlers   []*Handler // daemons and timers
	execution  *execution
	writer     *writer
	generation *generation // whose handlers they are
	runnables  *runnables
	pauses     *pauses
	settings   *settings.Settings
}

// attendance is an object in a cycle, with its daemons and timers.
type attendance struct {
	cause   *cause
	memory  *backgroundMemory
	spawned *spawned
	nudge   func() // ends the sleep of the worker of the object
	crowded error  // why the body cannot be kept; nil if it can
}

// crowdedDelay is when it is looked again whether there is room for the body of an object.
const crowdedDelay = time.Minute

// attend starts and stops the daemons and timers of an object, as their filters say. It
// returns when to look at those that are ending.
func (e *engine) attend(ctx context.Context, a *attendance) ([]time.Duration, error) {
	if a.cause.deleted() {
		return e.stopAll(a.memory.all(), abi.StopResourceDeleted), nil
	}
	matched, err := a.cause.match(ctx, e.living(a.memory, false))
	if err != nil {
		return nil, err
	}
	matched = deduplicated(matched)
	crowded := a.crowded
	for _, h := range matched {
		if crowded == nil && !e.pauses.isOn() { // or else the listing after the pause starts it
			crowded = e.spawn(ctx, a, h)
		}
	}
	if crowded != nil {
		a.cause.log.error(fmt.Sprintf("Daemons and timers of the object cannot run, and will be started again in %v seconds: %v", crowdedDelay.Seconds(), crowded))
		return append(e.stopAll(a.memory.all(), abi.StopFiltersMismatch), crowdedDelay), nil
	}
	ids := idsOf(matched)
	mismatched := slices.DeleteFunc(a.memory.all(), func(d *daemon) bool {
		return slices.Contains(ids, d.handler.ID) || d.generation != e.generation.id() // those that were replaced are stopped anyway
	})
	return e.stopAll(mismatched, abi.StopFiltersMismatch), nil
}

// bury stops the daemons and timers of an object that is gone, while others go on.
func (e *engine) bury(m *backgroundMemory) {
	for _, d := range m.all() {
		e.runnables.whileOpen(func() { d.stop(abi.StopResourceDeleted) })
	}
}

// guards tells whether there are daemons or timers to be stopped at the end of the life of
// the object.
func (e *engine) guards(ctx context.Context, a *attendance) (bool, error) {
	return a.cause.matchesAny(ctx, e.living(a.memory, true))
}

// living are the handlers that have not ended by themselves for this object; if asked for,
// with those for which it keeps its finalizer.
func (e *engine) living(m *backgroundMemory, guarding bool) []*Handler {
	return slices.DeleteFunc(slices.Clone(e.handlers), func(h *Handler) bool {
		over, guarded := m.isOver(h.ID)
		return over && (!guarding || !guarded)
	})
}

// stopAll goes on with the end of daemons.
func (e *engine) stopAll(daemons []*daemon, reason int) []time.Duration {
	var delays []time.Duration
	for _, d := range daemons {
		if delay := d.stopStep(e.settings, reason); delay != nil {
			delays = append(delays, *delay)
		}
	}
	return delays
}

// spawn makes a daemon or a timer, unless it runs already. The cycle begins it.
//
// Errors: accounts.ErrLimit, for the body.
func (e *engine) spawn(ctx context.Context, a *attendance, h *Handler) error {
	m := a.memory
	own, s := a.cause.alone(), newStopper()
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d := &daemon{
		handler: h, stopper: s, done: make(chan struct{}), log: &own.log,
		instant: instantExit(e.settings.Background), generation: e.generation.id(),
		kill: func() { cancel(); s.force() },
	}
	if !m.add(d) {
		cancel()
		return nil
	}
	entered := e.runnables.add(d)
	err := m.follow(own.account, a.cause.raw)
	if err != nil || !entered || e.generation.isReplaced() { // or else the exit or the replacement stops it
		cancel()
		s.set(abi.StopOperatorExiting)
		m.ended(d, false)
		close(d.done)
		if entered {
			e.runnables.remove(d)
		}
		return err
	}
	e.generation.hold()
	b := &background{daemon: d, engine: e, memory: m, nudge: a.nudge, cause: newCause(own, &daemonKind{stopper: s, live: m.newest})}
	b.patching = a.spawned.add(d, func() { go b.live(working, b.begin) })
	return nil
}

package processing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/internal/panics"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/daemons"
	"github.com/kopf-wasm/kopf/reactor/generations"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/loops"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/watching"
	"github.com/kopf-wasm/kopf/stores"
)

// cycle is what the worker of an object does about one event. Only a cycle waits, reads
// and patches. Decisions about handlers are made without it: see decision.go.
type cycle struct {
	*handling.Object
	p       *Processor
	it      queueing.Item
	queue   *queueing.Queue
	memory  *memory
	held    *generations.Generation // nil after release
	starts  *daemons.Starts         // the daemons and timers of this cycle; nil: none
	own     bool                    // the operator's last patch is why the object is handled
	waits   bool                    // the object waits for delayed handlers when the cycle has ended
	crowded error                   // why the account refused to keep the body for them; nil: it did not
}

// plan says what must happen next to an object, in addition to its patch.
type plan struct {
	delays  []time.Duration // times until handlers are due
	matched bool            // whether handlers match this change
	stale   bool            // whether the state may be outdated, and the handlers of changes need a newer one
}

// release releases the generation: the cycle calls no guest any more.
func (c *cycle) release() {
	c.held.Release()
	c.held = nil
}

// Yield releases the slot inside a host function: see handling.Slot.
func (c *cycle) Yield(ctx context.Context) { c.queue.Leave(ctx) }

// Wait releases the slot between two steps: see handling.Slot.
func (c *cycle) Wait(ctx context.Context) {
	c.queue.Leave(ctx)
	c.starts.Free()
}

// aside returns the logger for what the cycle does itself. As in Kopf, its messages are not posted as events; those of
// handlers and causes are.
func (c *cycle) aside() loggers.Logger { return c.Log.Local() }

// Target returns what the cycle patches.
func (c *cycle) Target() patching.Target {
	target := c.Object.Target()
	target.Log = c.aside()
	return target
}

// throttled sleeps until the throttling ends, or until a new event of the object arrives.
// It reports whether the throttling has ended.
func (c *cycle) throttled(ctx context.Context) bool {
	c.release()
	defer c.p.Memories.occupy(sleeperCost)()
	if c.queue.SleepFor(ctx, time.Until(c.memory.throttledUntil()), queueing.Throttled) > 0 {
		return false
	}
	c.memory.unthrottle(c.aside())
	return true
}

// settled ends the handling of an event, and reports whether it was without an error. After one, the object is throttled.
func (c *cycle) settled(ctx context.Context, err error) bool {
	if c.memory.judge(ctx, err, c.aside(), c.p.Settings.Queueing.ErrorDelays) && c.it.Type != watching.Deleted && !c.throttled(ctx) {
		return false // for a newer event of the object, or because the operator exits
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, handling.ErrExiting) {
		c.p.Completion.Fail() // maybe no event follows
		c.p.Completion.Done(c.it.Meta.Key())
	}
	return err == nil
}

// slowDown lets an object wait with which the operator triggers itself too often. A newer
// event of the object ends the wait.
func (c *cycle) slowDown(ctx context.Context, chain *loops.Chain, pause time.Duration) {
	c.release()
	object := c.p.Resource.String() + " " + strings.Trim(dicts.LookupString(c.Body, "metadata", "namespace")+"/"+dicts.LookupString(c.Body, "metadata", "name"), "/")
	if loop, first := c.p.Loops.Report(chain, object, time.Now()); first {
		c.aside().Warn(fmt.Sprintf("The operator triggers itself: %s. It is slowed down.", loop))
	}
	defer c.p.Memories.occupy(sleeperCost)()
	c.queue.SleepFor(ctx, pause, queueing.Looping)
	chain.Paused()
}

// begins notes that handlers are called for a new reason, and whether an own patch is the
// reason. While the version of the own patch is awaited, the reason is not known.
func (c *cycle) begins(handlers []*registries.Handler) {
	switch {
	case c.own:
		c.memory.chain = c.p.Loops.Continue(c.memory.chain, listed(handlers), time.Now())
	case c.it.ConsistentAt.IsZero():
		c.memory.chain = nil
	}
}

// listed returns the ids of the first handlers.
func listed(handlers []*registries.Handler) string {
	const most = 3
	ids := registries.IDs(handlers[:min(len(handlers), most)])
	text := strings.Join(ids, ", ")
	if len(handlers) > most {
		text += ", …"
	}
	return text
}

// run indexes the object, waits until the indices are complete, then handles the event. It
// returns the version that the cycle's patch has created.
//
// Errors: indexing.ErrReplaced, if the indices never become complete; queueing.ErrLost; *panics.Error.
func (c *cycle) run(ctx context.Context) (version string, err error) {
	defer panics.Recover(&err)
	if err = c.index(ctx); err != nil || c.it.Standby {
		return "", err
	}
	gate := c.p.Generation.Indexed
	if err := c.queue.Unhurried(ctx, gate.IsOpen(), gate.Wait); err != nil {
		return "", err
	}
	return c.handle(ctx)
}

// handle calls the handlers that are due, then applies their results.
//
// It first applies what an earlier cycle has left over; the event of that patch starts the
// next cycle. If the patch changes nothing, no event follows, so the handling continues.
// This happens if an earlier request reached the server, but its response was lost. What
// is left over survives a cycle that fails before it is applied, unless it is the reason
// of the failure.
func (c *cycle) handle(ctx context.Context) (version string, err error) {
	of := c.p.Resource.Key()
	earlier := c.memory.remaining(of)
	c.memory.leave(of, nil)
	defer func() { c.Patch.Release(context.WithoutCancel(ctx), len(c.memory.remaining(of))) }() // after a panic, too
	if len(c.p.Handlers.Spawning) > 0 {
		c.starts = &daemons.Starts{}
		defer c.starts.Free()
	}
	clean := c.Patch.Empty()
	if err = c.spy(ctx); err == nil {
		var next plan
		next, err = c.decide(ctx, clean)
		for err == nil && c.it.Type != watching.Deleted {
			var done applied
			done, err = c.apply(ctx, next, clean)
			version = done.Version
			c.memory.leave(of, done.Remaining)
			if clean || c.waits || err != nil || done.Gone || done.Version != "" || len(done.Remaining) > 0 {
				break
			}
			c.Patch.Release(context.WithoutCancel(ctx), 0)
			c.Object, clean, earlier = c.With(c.Raw, c.Body, patching.New(nil)), true, nil
			next, err = c.decide(ctx, clean)
		}
	}
	if err != nil && ctx.Err() == nil && c.it.Type != watching.Deleted && !errors.Is(err, patching.ErrTransformation) {
		c.memory.leave(of, earlier)
	}
	return version, err
}

// soon is a delay of handlers that is not worth a request: to touch an object takes about as long.
const soon = 40 * time.Millisecond

// decide makes the plan on the newest known state. If there is nothing to patch, but a newer state is expected, it makes the plan on
// the newer state; and if handlers are due soon, when they are.
func (c *cycle) decide(ctx context.Context, clean bool) (plan, error) {
	next, err := c.plan(ctx, clean)
	if err != nil || !c.Patch.Empty() {
		return next, err
	}
	if !next.stale {
		if len(next.delays) == 0 || slices.Min(next.delays) > soon || c.queue.SleepFor(ctx, slices.Min(next.delays), queueing.Retrying) > 0 {
			return next, nil
		}
		return c.plan(ctx, clean)
	}
	newer, err := c.catchUp(ctx)
	if err != nil || !newer {
		return plan{delays: next.delays}, err
	}
	return c.plan(ctx, clean)
}

// catchUp waits for the version of the operator's last patch. Newer events are handled in
// place of this one. If no event arrives in time, it reads the object, because the watch
// may be delayed for long. It returns false if nothing remains to do.
func (c *cycle) catchUp(ctx context.Context) (bool, error) {
	c.starts.Free()
	if c.queue.SleepFor(ctx, time.Until(c.it.ConsistentAt), queueing.Catching) > 0 {
		return false, nil
	}
	raw, body, err := c.p.Writer.Read(ctx, c.Target(), clients.Hooks{Sent: c.queue.Rest}, c.p.Decode)
	if err != nil || raw == nil {
		return false, err
	}
	c.Object, c.it.ConsistentAt = c.With(raw, body, c.Patch), time.Time{}
	c.own = c.it.Awaited == dicts.LookupString(body, "metadata", "resourceVersion")
	return true, nil
}

// applied is the result of a cycle's patch.
type applied struct {
	patching.Written
	idle bool // there was nothing to patch and nothing to wait for
}

// apply patches the object if there is something to patch. Otherwise it lets the object wait until the
// next handler is due, or until an event arrives.
func (c *cycle) apply(ctx context.Context, next plan, clean bool) (applied, error) {
	c.starts.Start()
	done, err := c.patchOrSleep(ctx, next.delays, clean)
	if done.idle && next.matched {
		c.aside().Debug("Handling cycle is finished, waiting for new changes.")
	}
	outdated := time.Now().Before(c.it.ConsistentAt) // a newer state is expected

	// If nothing was changed, no event follows, also after a patch.
	unchanged := clean && !next.stale && len(next.delays) == 0 && done.Version == "" && len(done.Remaining) == 0
	if err == nil && ((done.idle || unchanged) && !outdated || done.Gone) {
		c.p.Completion.Done(c.it.Meta.Key())
	}
	return done, err
}

// patchOrSleep patches the object, or lets it wait for the shortest delay: also after a patch without effect, because no event
// follows; in Kopf, the delayed handlers are then forgotten. If the patch has what an earlier cycle has left over, the caller continues.
//
// Kopf: kopf._core.actions.application (v1.45).
func (c *cycle) patchOrSleep(ctx context.Context, delays []time.Duration, clean bool) (applied, error) {
	patched := !c.Patch.Empty()
	if patched {
		if err := c.p.Settings.Persistence.Progress.Touch(c.Body, &c.Patch.Merge, nil); err != nil {
			return applied{}, err
		}
	}
	done, err := c.p.Writer.Write(ctx, c.Target(), c.Patch, c.queue.Hooks(ctx))
	c.memory.stateLoss.written(done.Dropped, err)
	c.starts.Release()
	if err != nil || len(delays) == 0 {
		return applied{done, !patched}, err
	}
	delay := slices.Min(delays)
	if patched && (!clean || done.Version != "" || done.Gone || len(done.Remaining) > 0) {
		if delay > 0 {
			c.aside().Debug(fmt.Sprintf("Sleeping was skipped because of the patch, %v seconds left.", delay.Seconds()))
		}
		return applied{done, false}, nil
	}
	if delay > 0 {
		return applied{done, false}, c.postpone(delay)
	}
	touch, err := c.touch(stores.FormatTime(time.Now()))
	if err != nil {
		return applied{}, err
	}
	done, err = c.p.Writer.Write(ctx, c.Target(), touch, c.queue.Hooks(ctx))
	return applied{done, false}, err
}

// touch makes a change without a meaning, to get an event of the object.
func (c *cycle) touch(value string) (*patching.Patch, error) {
	touch := patching.New(nil)
	err := c.p.Settings.Persistence.Progress.Touch(c.Body, &touch.Merge, &value)
	return touch, err
}

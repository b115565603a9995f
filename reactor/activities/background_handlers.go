package activities

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/generations"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/stoppers"
)

// backgroundHandler is a handler that belongs to no object. It runs next to the operator, as a daemon
// runs next to an object. It is retried after errors, but it is not restarted after it has
// ended by itself.
//
// It has no counterpart in Kopf.
type backgroundHandler struct {
	handler *registries.Handler
	cause   *handling.Cause
	x       *handling.Execution
}

// Background holds the running background handlers.
type Background struct {
	mu   sync.Mutex              // guards the fields below, and keeps handlers of two generations from running at the same time
	halt func()                  // nil: no handlers run
	of   *generations.Generation // whose handlers run
}

// Start starts the background handlers of the activity after those of the previous
// generation have ended. It starts none if e is no longer the current generation, or if they run already: a replica can become the
// leader while a replacement starts them, too.
func (b *Background) Start(ctx context.Context, a *Activity, e *generations.Generation, in handling.Entrance) (err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.IsReplaced() || b.halt != nil && b.of == e {
		return nil
	}
	b.end()
	if ctx.Err() == nil {
		b.of = e
		b.halt, err = startBackground(ctx, a, e, in)
	}
	return err
}

// Stop ends the background handlers and waits for them.
func (b *Background) Stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end()
}

func (b *Background) end() {
	if b.halt != nil {
		b.halt()
		b.halt = nil
	}
}

// startBackground starts the background handlers. The returned function asks them to end, and
// waits. It ends handlers by force that exceed the time of handlers at the exit.
func startBackground(ctx context.Context, a *Activity, e *generations.Generation, in handling.Entrance) (stop func(), err error) {
	working, kill := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	stopper := stoppers.New()
	e.Hold()
	for _, h := range registries.Deduplicated(a.Handlers) {
		var c *handling.Cause
		if c, err = a.cause(a.Settings, stopper); err != nil {
			break
		}
		b := &backgroundHandler{h, c, &handling.Execution{Settings: a.Settings, Lifecycle: progression.AllAtOnce, Errors: handling.ModeTemporary, Entrance: in}}
		running.Go(func() { b.run(working) }) // The returned function waits for it.
	}
	tell := context.AfterFunc(ctx, func() { stopper.Set(abi.StopOperatorExiting) })
	return func() {
		tell()
		stopper.Set(abi.StopOperatorExiting)
		relax := stoppers.AfterForce(ctx, kill)
		late := time.AfterFunc(a.Settings.Queueing.ExitTimeout, kill)
		running.Wait()
		late.Stop()
		relax()
		kill()
		e.Release()
	}, err
}

// run calls the handler until it ends by itself or must stop.
func (h *backgroundHandler) run(ctx context.Context) {
	title, stopper := h.handler.Title(), h.cause.Stopper()
	state := progression.State{}.WithHandlers([]string{h.handler.ID}, time.Now())
	for !stopper.IsSet() && !state.Done() {
		outcomes, err := attempt(ctx, h.x, []*registries.Handler{h.handler}, h.cause, state)
		if errors.Is(err, abi.ErrInstanceLost) {
			h.cause.Log.Debug(title + " has lost its instance, and is started again.")
			continue
		}
		if err == nil {
			state, err = state.WithOutcomes(handling.ForState(outcomes), time.Now())
		}
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, handling.ErrExiting) {
				h.cause.Log.Error(fmt.Sprintf("%s has failed: %v", title, err))
			}
			return
		}
		if delay := state.Delay(time.Now()); delay != nil {
			stopper.Sleep(*delay)
		}
	}
	if stopper.IsSet() {
		h.cause.Log.Debug(title + " has exited on request and will not be retried or restarted.")
	} else {
		h.cause.Log.Debug(title + " has exited on its own and will not be retried or restarted.")
	}
}

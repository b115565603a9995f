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

// work is a handler that belongs to no object. It runs beside the operator as a
// daemon does beside an object: it is retried after errors, but not started again
// once it has ended by itself.
//
// It is not in the reference.
type work struct {
	handler *registries.Handler
	cause   *handling.Cause
	x       *handling.Execution
}

// Background are the background handlers that run.
type Background struct {
	mu   sync.Mutex // guards halt, and keeps those of two generations from running at the same time
	halt func()     // nil: there are none
}

// Start starts the background handlers of a generation that is still the present one,
// after those of the one before have ended. The activity has the handlers.
func (w *Background) Start(ctx context.Context, a *Activity, e *generations.Generation, in handling.Entrance) (err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end()
	if !e.Replaced.Load() && ctx.Err() == nil {
		w.halt, err = startWork(ctx, a, e, in)
	}
	return err
}

func (w *Background) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end()
}

func (w *Background) end() {
	if w.halt != nil {
		w.halt()
		w.halt = nil
	}
}

// startWork starts the background handlers. The returned function tells them to
// end, and waits; those that take longer than handlers at the exit may are ended by
// force.
func startWork(ctx context.Context, a *Activity, e *generations.Generation, in handling.Entrance) (stop func(), err error) {
	working, kill := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	stopper := stoppers.New()
	e.Hold()
	for _, h := range registries.Deduplicated(a.Handlers) {
		var c *handling.Cause
		if c, err = a.cause(stopper); err != nil {
			break
		}
		w := &work{h, c, &handling.Execution{Settings: a.Settings, Lifecycle: progression.AllAtOnce, Errors: handling.ModeTemporary, Entrance: in}}
		running.Go(func() { w.run(working) }) // Waited for by the returned function.
	}
	tell := context.AfterFunc(ctx, func() { stopper.Set(abi.StopOperatorExiting) })
	return func() {
		tell()
		stopper.Set(abi.StopOperatorExiting)
		late := time.AfterFunc(a.Settings.Queueing.ExitTimeout, kill)
		running.Wait()
		late.Stop()
		kill()
		e.Release()
	}, err
}

// run calls the handler until it ends by itself, or is told to.
func (w *work) run(ctx context.Context) {
	title, stopper := w.handler.Title(), w.cause.Stopper()
	state := progression.State{}.WithHandlers([]string{w.handler.ID}, time.Now())
	for !stopper.IsSet() && !state.Done() {
		outcomes, err := w.x.Run(ctx, []*registries.Handler{w.handler}, w.cause, state)
		if errors.Is(err, abi.ErrInstanceLost) {
			w.cause.Log.Debug(title + " has lost its instance, and is started again.")
			continue
		}
		if err == nil {
			state, err = state.WithOutcomes(handling.ForState(outcomes), time.Now())
		}
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, handling.ErrExiting) {
				w.cause.Log.Error(fmt.Sprintf("%s has failed: %v", title, err))
			}
			return
		}
		if delay := state.Delay(time.Now()); delay != nil {
			stopper.Sleep(*delay)
		}
	}
	if stopper.IsSet() {
		w.cause.Log.Debug(title + " has exited on request and will not be retried or restarted.")
	} else {
		w.cause.Log.Debug(title + " has exited on its own and will not be retried or restarted.")
	}
}

package reactor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/progression"
)

// work is a handler that belongs to no object. It runs beside the operator as a
// daemon does beside an object: it is retried after errors, but not started again
// once it has ended by itself.
//
// It is not in the reference.
type work struct {
	handler *Handler
	cause   *cause
	x       *execution
}

// works are the background handlers that run.
type works struct {
	mu   sync.Mutex // guards halt, and keeps those of two generations from running at the same time
	halt func()     // nil: there are none
}

// start starts the background handlers of a generation that is still the present one,
// after those of the one before have ended. The activity has the handlers.
func (w *works) start(ctx context.Context, a *activity, e *generation, in entrance) (err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end()
	if !e.replaced.Load() && ctx.Err() == nil {
		w.halt, err = startWork(ctx, a, e, in)
	}
	return err
}

func (w *works) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end()
}

func (w *works) end() {
	if w.halt != nil {
		w.halt()
		w.halt = nil
	}
}

// startWork starts the background handlers. The returned function tells them to
// end, and waits; those that take longer than handlers at the exit may are ended by
// force.
func startWork(ctx context.Context, a *activity, e *generation, in entrance) (stop func(), err error) {
	working, kill := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	stopper := newStopper()
	e.hold()
	for _, h := range deduplicated(a.handlers) {
		var c *cause
		if c, err = a.cause(stopper); err != nil {
			break
		}
		w := &work{h, c, &execution{settings: a.settings, lifecycle: progression.AllAtOnce, errors: modeTemporary, entrance: in}}
		running.Go(func() { w.run(working) }) // Waited for by the returned function.
	}
	tell := context.AfterFunc(ctx, func() { stopper.set(abi.StopOperatorExiting) })
	return func() {
		tell()
		stopper.set(abi.StopOperatorExiting)
		late := time.AfterFunc(a.settings.Queueing.ExitTimeout, kill)
		running.Wait()
		late.Stop()
		kill()
		e.release()
	}, err
}

// run calls the handler until it ends by itself, or is told to.
func (w *work) run(ctx context.Context) {
	title, stopper := w.handler.Title(), w.cause.stopper()
	state := progression.State{}.WithHandlers([]string{w.handler.ID}, time.Now())
	for !stopper.isSet() && !state.Done() {
		outcomes, err := w.x.run(ctx, []*Handler{w.handler}, w.cause, state)
		if errors.Is(err, abi.ErrInstanceLost) {
			w.cause.log.debug(title + " has lost its instance, and is started again.")
			continue
		}
		if err == nil {
			state, err = state.WithOutcomes(forState(outcomes), time.Now())
		}
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, errExiting) {
				w.cause.log.error(fmt.Sprintf("%s has failed: %v", title, err))
			}
			return
		}
		if delay := state.Delay(time.Now()); delay != nil {
			stopper.sleep(*delay)
		}
	}
	if stopper.isSet() {
		w.cause.log.debug(title + " has exited on request and will not be retried or restarted.")
	} else {
		w.cause.log.debug(title + " has exited on its own and will not be retried or restarted.")
	}
}

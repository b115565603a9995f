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

// startWork starts the background handlers. The returned function tells them to
// end, and waits; those that take longer than handlers at the exit may are ended by
// force.
func (op *Operator) startWork(ctx context.Context) (stop func(), err error) {
	working, kill := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	stopper := newStopper()
	for _, h := range deduplicated(op.Registry.activities[abi.KindBackground]) {
		c, err := op.activity(abi.KindBackground).cause()
		if err != nil {
			kill()
			return nil, err
		}
		c.stopper = stopper
		w := &work{h, c, &execution{settings: op.Settings, lifecycle: progression.AllAtOnce, errors: modeTemporary}}
		running.Go(func() { w.run(working) }) // Waited for by the returned function.
	}
	tell := context.AfterFunc(ctx, func() { stopper.set(abi.StopOperatorExiting) })
	return func() {
		tell()
		stopper.set(abi.StopOperatorExiting)
		late := time.AfterFunc(op.Settings.Queueing.ExitTimeout, kill)
		running.Wait()
		late.Stop()
		kill()
	}, nil
}

// run calls the handler until it ends by itself, or is told to.
func (w *work) run(ctx context.Context) {
	title, stopper := w.handler.Title(), w.cause.stopper
	state := progression.State{}.WithHandlers([]string{w.handler.ID}, time.Now())
	for !stopper.isSet() && !state.Done() {
		outcomes, err := w.x.run(ctx, []*Handler{w.handler}, w.cause, state)
		if errors.Is(err, ErrInstanceLost) {
			w.cause.log.debug(title + " has lost its instance, and is started again.")
			continue
		}
		if err == nil {
			state, err = state.WithOutcomes(forState(outcomes), time.Now())
		}
		if err != nil {
			if ctx.Err() == nil {
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

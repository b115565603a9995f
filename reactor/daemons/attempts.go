package daemons

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/progression"
)

// awake makes a cause with the newest body of the object.
func (b *life) awake(ctx context.Context) (*handling.Cause, error) {
	live := b.memory.newest()
	if live == nil {
		return nil, errors.New("the object is not known")
	}
	var body dicts.Object
	var err error
	b.cause.Work(ctx, len(live), func() { // a body that is being decoded takes much memory, and only as many are as there are cores
		if body, err = b.engine.Decode(live); err == nil {
			dicts.Fold(body)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("the body of the object: %w", err)
	}
	return handling.NewCause(b.cause.With(live, body, patching.New(b.remaining)), b.cause.Kind), nil
}

// attempt calls the handler with the newest body.
func (b *life) attempt(ctx context.Context) (*sleep, error) {
	c, err := b.awake(ctx)
	if err != nil {
		return nil, err
	}
	b.began = time.Now()
	b.returned.Store(false)
	x := b.engine.Execution
	if over := x.Over(b.handler, c, b.state); over != nil {
		return b.take(ctx, c, *over)
	}
	if b.leave, err = x.Enter(ctx, b.handler, b.stopper.Waits); err != nil {
		return nil, err
	}
	var step *abi.Step
	b.talk, step, err = x.Open(ctx, b.handler, c, b.state, &handling.Env{Cause: b.cause})
	return b.converse(ctx, step, err)
}

// converse continues an attempt until the guest waits, or until the attempt ends.
func (b *life) converse(ctx context.Context, step *abi.Step, err error) (*sleep, error) {
	for err == nil && step.Step != abi.StepDone {
		if step.Step == abi.StepWait {
			return b.sleepFor(step), nil
		}
		if step.Step == abi.StepCall {
			b.talk.Cause = b.cause // nothing else is needed until the last step, and the body may be an older one, which does not count
			b.stopper.Away(func() { step, err = b.talk.Next(ctx, step) })
			continue
		}
		step, err = b.talk.Next(ctx, step)
	}
	return b.conclude(ctx, step, err)
}

// sleepFor returns the sleep that the guest asks for.
func (b *life) sleepFor(step *abi.Step) *sleep {
	b.talk.Cause = nil
	limit, reasons := b.talk.Bounds(step)
	stoppable := step.Stoppable
	return &sleep{limit: limit, reasons: reasons, then: func(ctx context.Context) (*sleep, error) {
		b.talk.Cause = b.cause // as for a request
		var step *abi.Step
		answer, err := b.talk.Waited(ctx, stoppable)
		if err == nil {
			step, err = b.talk.Resume(ctx, answer)
		}
		return b.converse(ctx, step, err)
	}}
}

// conclude ends an attempt. If another task has broken the shared instance, the failure
// does not count as an attempt.
func (b *life) conclude(ctx context.Context, step *abi.Step, err error) (*sleep, error) {
	talk := b.talk
	c, failed := b.awake(ctx)
	if failed != nil {
		c, err = b.cause, errors.Join(err, failed)
	}
	if talk.Cause = c; err == nil {
		err = talk.End(ctx, step)
	}
	talk.Close(ctx)
	b.leave()
	b.talk, b.leave = nil, nil
	if failed != nil {
		return nil, err
	}
	b.remaining = c.Patch.Transformations // until they are applied: the attempt may fail before
	b.returned.Store(true)
	done, err := b.engine.Execution.Conclude(ctx, b.handler, c, b.state, &talk.Ending, err)
	if errors.Is(err, abi.ErrInstanceLost) {
		b.log.Debug(b.handler.Title() + " has lost its instance, and is started again.")
		return after(0, b.due), nil
	}
	if err != nil {
		return nil, err
	}
	return b.take(ctx, c, done)
}

// take applies the outcome and the patch of an attempt.
func (b *life) take(ctx context.Context, c *handling.Cause, done handling.Outcome) (*sleep, error) {
	merged := done.ForState()
	b.state = b.state.WithOutcome(merged, time.Now())
	b.state.Message = nil // daemons store no message, and it may be long
	if err := progression.DeliverResults(map[string]progression.Outcome{b.handler.ID: merged}, &c.Patch.Merge); err != nil {
		return nil, err
	}
	b.over = b.isLast() && !b.stopper.IsSet() // before the patch, whose event may already stop it
	if err := b.apply(ctx, c); err != nil {
		return nil, err
	}
	return b.schedule(), nil
}

// apply writes the patch of an attempt. It keeps transformations that lost against newer
// changes for the next attempt. It logs failed requests; they do not end the daemon.
func (b *life) apply(ctx context.Context, c *handling.Cause) error {
	if b.patched = false; c.Patch.Empty() {
		c.Patch.Release(context.WithoutCancel(ctx), 0) // the memory of the result
		return nil
	}
	var done patching.Written
	var err error
	b.stopper.Away(func() {
		if err = b.mayPatch(ctx); err == nil {
			done, err = b.engine.Writer.Write(ctx, c.Target(), c.Patch, clients.Hooks{})
		}
	})
	b.patched = done.Version != ""
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		b.log.Error(fmt.Sprintf("The patch of %s could not be applied: %v", b.handler.Title(), err))
	}
	c.Patch.Release(context.WithoutCancel(ctx), len(done.Remaining))
	b.remaining = done.Remaining
	return nil
}

// mayPatch waits until the cycle that has created the daemon has patched the object.
func (b *life) mayPatch(ctx context.Context) error {
	if b.patching == nil {
		return nil
	}
	select {
	case <-b.patching:
		b.patching = nil
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

package reactor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/progression"
)

// awake makes a cause with the newest body of the object.
func (b *background) awake() (*cause, error) {
	live := b.memory.newest()
	if live == nil {
		return nil, errors.New("nothing is known of the object")
	}
	body, err := dicts.DecodeObject(live)
	if err != nil {
		return nil, fmt.Errorf("the body of the object: %w", err)
	}
	return newCause(b.cause.with(live, body, newPatch(b.remaining)), b.cause.kind), nil
}

// attempt calls the handler, with the newest body.
func (b *background) attempt(ctx context.Context) (*sleep, error) {
	c, err := b.awake()
	if err != nil {
		return nil, err
	}
	b.began = time.Now()
	x := b.engine.execution
	if over := x.over(b.handler, c, b.state); over != nil {
		return b.take(ctx, c, *over)
	}
	if b.leave, err = x.enter(ctx, b.handler, b.stopper.waits); err != nil {
		return nil, err
	}
	var step *abi.Step
	b.talk, step, err = x.open(ctx, b.handler, c, b.state, &env{cause: b.cause})
	return b.converse(ctx, step, err)
}

// converse goes on with an attempt until the guest waits, or to the end.
func (b *background) converse(ctx context.Context, step *abi.Step, err error) (*sleep, error) {
	for err == nil && step.Step != abi.StepDone {
		if step.Step == abi.StepWait {
			return b.doze(step), nil
		}
		if step.Step == abi.StepCall {
			b.stopper.away(func() { step, err = b.talk.next(ctx, step) })
			continue
		}
		step, err = b.talk.next(ctx, step)
	}
	return b.conclude(ctx, step, err)
}

// doze is the sleep that the guest wishes.
func (b *background) doze(step *abi.Step) *sleep {
	b.talk.cause = nil
	limit, reasons := b.talk.bounds(step)
	stoppable := step.Stoppable
	return &sleep{limit: limit, reasons: reasons, then: func(ctx context.Context) (*sleep, error) {
		b.talk.cause = b.cause // all that is needed until the last step
		var step *abi.Step
		answer, err := b.talk.waited(ctx, stoppable)
		if err == nil {
			step, err = b.talk.resume(ctx, answer)
		}
		return b.converse(ctx, step, err)
	}}
}

// conclude ends an attempt. A failure of its instance that was another task's
// fault is not charged to it.
func (b *background) conclude(ctx context.Context, step *abi.Step, err error) (*sleep, error) {
	talk := b.talk
	c, failed := b.awake()
	if failed != nil {
		err = errors.Join(err, failed)
	}
	if talk.cause = c; err == nil {
		err = talk.end(ctx, step)
	}
	talk.close(ctx)
	b.leave()
	b.talk, b.leave = nil, nil
	if failed != nil {
		return nil, err
	}
	done, err := b.engine.execution.conclude(ctx, b.handler, c, b.state, &talk.ending, err)
	if errors.Is(err, abi.ErrInstanceLost) {
		b.log.debug(b.handler.Title() + " has lost its instance, and is started again.")
		return after(0, b.due), nil
	}
	if err != nil {
		return nil, err
	}
	return b.take(ctx, c, done)
}

// take applies what an attempt has left.
func (b *background) take(ctx context.Context, c *cause, done outcome) (*sleep, error) {
	merged := done.forState()
	b.state = b.state.WithOutcome(merged, time.Now())
	b.state.Message = nil // it is not stored, and may be long
	if err := progression.DeliverResults(map[string]progression.Outcome{b.handler.ID: merged}, &c.patch.merge); err != nil {
		return nil, err
	}
	if err := b.apply(ctx, c); err != nil {
		return nil, err
	}
	return b.schedule(), nil
}

// apply writes the patch of an attempt. What lost against newer changes is kept
// for the next one; requests that fail are logged, and do not end the daemon.
func (b *background) apply(ctx context.Context, c *cause) error {
	if b.patched = false; c.patch.empty() {
		return nil
	}
	var done written
	var err error
	b.stopper.away(func() {
		if err = b.mayPatch(ctx); err == nil {
			done, err = b.engine.writer.write(ctx, c.target(), c.patch, clients.Hooks{})
		}
	})
	b.patched = done.version != ""
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		b.log.error(fmt.Sprintf("The patch of %s could not be applied: %v", b.handler.Title(), err))
	}
	if len(done.remaining) == 0 {
		c.patch.release(context.WithoutCancel(ctx), 0)
	}
	b.remaining = done.remaining
	return nil
}

// mayPatch waits until the cycle that has spawned it has patched the object.
func (b *background) mayPatch(ctx context.Context) error {
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

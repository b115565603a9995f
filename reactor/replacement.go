package reactor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/calls"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// ErrNotServing is for operators that have not begun to serve, or serve no more.
var ErrNotServing = errors.New("the operator does not serve")

// promptly is how long daemons that were replaced may take to end before all others
// are started anew; those that take longer are started anew when they have ended.
const promptly = 200 * time.Millisecond

// replacing is what Replace needs of an operator that runs.
type replacing struct {
	initial  settings.Settings // before the startup handlers
	begun    chan struct{}     // closed when the first streams are known
	renewals sync.WaitGroup    // what goes on after a replacement

	mu       sync.Mutex // one replacement at a time; guards all below
	serving  context.Context
	observer *observer
	hooked   bool // the API server can reach handlers
}

func (r *replacing) begin(ctx context.Context, o *observer, hooked bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.serving, r.observer, r.hooked = ctx, o, hooked
}

// end waits for what goes on.
func (r *replacing) end() {
	r.mu.Lock()
	r.serving = nil
	r.mu.Unlock()
	r.renewals.Wait()
}

// Replace puts other handlers in the place of those of an operator that serves. The
// streams go on; what is known of the objects stays, and so do memos, settings and
// credentials. An error means that nothing was replaced; ErrNotServing, that it was
// too early or too late.
//
// The order: the startup handlers of the new ones are called, and may not change any
// setting; then the new handlers take over. Handlers that run are finished by the old
// ones, unless they are daemons: these are stopped as at the exit. Background handlers,
// daemons and timers are started anew, indices are filled anew, and all objects are
// shown to the new handlers once more: to be handled if they have not been yet, but not
// as events, and not to be resumed. The cleanup handlers are called at the exit only.
//
// The returned channel is closed when the old guests are not called any more; tasks
// of theirs may be left to be released.
func (op *Operator) Replace(ctx context.Context, r *Registry, o calls.Options) (left <-chan struct{}, err error) {
	x := &op.replacing
	x.mu.Lock()
	defer x.mu.Unlock()
	serving := x.serving
	if serving == nil {
		return nil, ErrNotServing
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(serving, cancel)() //nolint:contextcheck // it ends with either
	select {
	case <-x.begun:
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrNotServing, ctx.Err())
	}
	if r.needsServer() && !x.hooked {
		return nil, errNoServer
	}
	e, err := op.newGeneration(op.present().number+1, r, o)
	if err != nil {
		return nil, err
	}
	log := op.Log.With().Str(LoggerField, "kopf.reactor").Logger()
	e.registry.bind(serving, log, op.unanswered, askForResource(&log)) //nolint:contextcheck // for as long as it serves
	if err := op.startUp(ctx, e); err != nil {
		return nil, err
	}
	if err := op.reclaim(e); err != nil {
		return nil, err
	}
	return op.takeOver(serving, e), nil //nolint:contextcheck // the same
}

// startUp calls the startup handlers of a generation that is to be the next one.
func (op *Operator) startUp(ctx context.Context, e *generation) error {
	initial := op.replacing.initial
	a := op.activity(e, abi.KindStartup)
	a.settings = &initial
	done, err := a.run(ctx)
	if err != nil {
		return fmt.Errorf("startup: %w", err)
	}
	if _, err := initial.SetByGuest(wireSettings(done.settings), op.GrantedSettings); err != nil {
		return fmt.Errorf("startup: %w", err)
	}
	changed, err := differences(op.Settings, &initial)
	if err != nil {
		return err
	}
	if len(changed) > 0 {
		return fmt.Errorf("startup: it changes settings, which takes a new start of the operator: %s", strings.Join(changed, ", "))
	}
	return nil
}

// reclaim claims the streams for a generation, or for the one before if it cannot have
// all of them.
func (op *Operator) reclaim(e *generation) (err error) {
	claim := func(e *generation) (err error) {
		op.served.each(func(s *servedStream) { err = errors.Join(err, s.reclaim(e)) })
		return err
	}
	if err = claim(e); err != nil {
		_ = claim(op.present()) // it had them before
	}
	return err
}

// differences are the names of the settings that differ.
func differences(a, b *settings.Settings) ([]string, error) {
	var values [2]map[string]json.RawMessage
	for i, s := range []*settings.Settings{a, b} {
		text, err := s.JSON()
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &values[i]); err != nil {
			return nil, err
		}
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(values[0])) {
		if !bytes.Equal(values[0][name], values[1][name]) {
			names = append(names, name)
		}
	}
	return names, nil
}

// takeOver makes a generation the present one.
func (op *Operator) takeOver(ctx context.Context, e *generation) (left <-chan struct{}) {
	x := &op.replacing
	e.indexed.add() // until it is known which objects are to be indexed
	e.inherit(op.present())
	old := op.replace(e)
	released := make(chan struct{})
	x.renewals.Go(func() {
		defer close(released)
		old.holders.Wait()
		old.services.caller.Close()
	})
	x.observer.resume(ctx)
	x.renewals.Go(func() { op.renew(ctx, e) })
	return released
}

// renew ends what the handlers before have left running, and starts it anew.
func (op *Operator) renew(ctx context.Context, e *generation) {
	var working sync.WaitGroup
	working.Go(func() {
		if err := op.works.start(ctx, op.activity(e, abi.KindBackground), e, op.runnables); err != nil {
			op.Log.Error().Str(LoggerField, "kopf.reactor").Err(err).Msg("background handlers cannot be started")
		}
	})
	ended := op.retire(e)
	timer := time.NewTimer(promptly)
	defer timer.Stop()
	late := false
	select {
	case <-ended:
	case <-timer.C:
		late = true
	}
	e.hold() // its functions may select resources
	op.served.each(func(s *servedStream) {
		if s.born.Load() != e.number+1 {
			e.await(s.dimension)
			s.again(ctx, e.gateOf(s.dimension))
		}
	})
	e.indexed.done()
	e.release()
	if <-ended; late {
		op.served.each(func(s *servedStream) {
			if p := s.processor.Load(); p != nil && len(p.handlers.spawning) > 0 {
				s.again(ctx, nil)
			}
		})
	}
	working.Wait()
}

// retire stops the daemons and timers of all generations but one. The returned channel is
// closed when they have ended.
func (op *Operator) retire(e *generation) <-chan struct{} {
	var stopping sync.WaitGroup
	for _, d := range op.runnables.all() {
		if d.generation != e.number {
			stopping.Go(d.retire)
		}
	}
	ended := make(chan struct{})
	op.replacing.renewals.Go(func() {
		stopping.Wait()
		close(ended)
	})
	return ended
}

// retire ends a daemon as at the exit of the operator. A timer that ticks may finish.
func (d *daemon) retire() {
	if d.handler.Spec.Kind == abi.KindTimer {
		d.stopper.set(abi.StopOperatorExiting)
	} else {
		d.stop(abi.StopOperatorExiting)
		d.kill()
	}
	<-d.done
}

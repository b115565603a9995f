package reactor

import (
	"bytes"
	"cmp"
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
	"github.com/kopf-wasm/kopf/reactor/generations"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/observation"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/streams"
)

// ErrNotServing means that the operator has not begun to serve, or no longer serves.
var ErrNotServing = errors.New("the operator does not serve")

// promptly is how long a replacement waits for replaced daemons to end before it starts
// the others. It starts slower ones after they have ended.
const promptly = 200 * time.Millisecond

// replacing is what Replace needs of a running operator.
type replacing struct {
	initial  settings.Settings // the settings before the startup handlers
	begun    chan struct{}     // closed when the first streams are known
	renewals sync.WaitGroup    // work that continues after Replace has returned

	mu       sync.Mutex // held during a replacement; guards the fields below
	serving  context.Context
	observer *observation.Observer
	hooked   bool // whether the API server can reach handlers
}

func (r *replacing) begin(ctx context.Context, o *observation.Observer, hooked bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.serving, r.observer, r.hooked = ctx, o, hooked
}

// end blocks until the renewals have finished.
func (r *replacing) end() {
	r.mu.Lock()
	r.serving = nil
	r.mu.Unlock()
	r.renewals.Wait()
}

// Replace replaces the handlers of a running operator. Streams continue; the memories of
// objects, memos, settings and credentials stay. An error means that nothing was replaced.
// ErrNotServing means that Replace was called too early or too late.
//
// Order: the new startup handlers run, and may not change any setting; then the new
// handlers take over. The old handlers finish their running calls, except daemons, which
// are stopped as at the exit. Background handlers, daemons and timers are restarted, and
// indices are filled again. The new handlers see all objects once more: objects that are
// not handled yet are handled, but there are no raw events and no resuming. Cleanup
// handlers run at the exit only.
//
// The returned channel is closed when the old guests are no longer called. Some of their
// tasks may still have to be released.
func (op *Operator) Replace(ctx context.Context, r *registries.Registry, o calls.Options) (left <-chan struct{}, err error) {
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
	}
	if err := cmp.Or(ctx.Err(), serving.Err()); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotServing, err)
	}
	if r.NeedsServer() && !x.hooked {
		return nil, ErrNoServer
	}
	e, err := op.newGeneration(op.generations.Present().Number+1, r, o)
	if err != nil {
		return nil, err
	}
	log := op.Log.With().Str(loggers.Field, "kopf.reactor").Logger()
	e.Registry.Bind(serving, log, op.askLater, handling.AskForResource(&log)) //nolint:contextcheck // for as long as it serves
	if err := op.startupAgain(ctx, e); err != nil {
		return nil, err
	}
	if err := op.reclaim(e); err != nil {
		return nil, err
	}
	op.warnOfIDs(e.Registry, log)
	return op.takeOver(serving, e), nil //nolint:contextcheck // the same
}

// startupAgain runs the startup handlers of the next generation.
func (op *Operator) startupAgain(ctx context.Context, e *generations.Generation) error {
	initial := op.replacing.initial
	a := op.activity(e, abi.KindStartup)
	a.Settings = &initial
	done, err := a.Run(ctx)
	if err != nil {
		return fmt.Errorf("startup: %w", err)
	}
	if _, err := initial.SetByGuest(done.Settings, op.GrantedSettings); err != nil {
		return fmt.Errorf("startup: %w", err)
	}
	changed, err := differences(op.Settings, &initial)
	if err != nil {
		return err
	}
	if len(changed) > 0 {
		return fmt.Errorf("startup: it changes settings, which needs a restart of the operator: %s", strings.Join(changed, ", "))
	}
	return nil
}

// reclaim claims the streams for a generation. If it cannot claim all of them, it claims
// them for the current generation again.
func (op *Operator) reclaim(e *generations.Generation) (err error) {
	claim := func(e *generations.Generation) (err error) {
		op.streams.Each(func(s *streams.Stream) { err = errors.Join(err, s.Reclaim(e)) })
		return err
	}
	if err = claim(e); err != nil {
		_ = claim(op.generations.Present()) // the current generation had these claims before
	}
	return err
}

// differences returns the names of the settings that differ.
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

// takeOver makes a generation the current one.
func (op *Operator) takeOver(ctx context.Context, e *generations.Generation) (left <-chan struct{}) {
	x := &op.replacing
	e.Indexed.Add() // until it is known which objects must be indexed
	e.Inherit(op.generations.Present())
	old := op.generations.Replace(e)
	released := make(chan struct{})
	x.renewals.Go(func() {
		defer close(released)
		old.Holders.Wait()
		old.Services.Caller.Close()
	})
	x.observer.Resume(ctx)
	x.renewals.Go(func() { op.renew(ctx, e) })
	return released
}

// renew stops what runs for replaced handlers, and starts it for the new ones.
func (op *Operator) renew(ctx context.Context, e *generations.Generation) {
	var working sync.WaitGroup
	working.Go(func() {
		if !op.replica.leads() {
			return // becomeLeader starts them
		}
		if err := op.startBackground(ctx, e); err != nil {
			op.Log.Error().Str(loggers.Field, "kopf.reactor").Err(err).Msg("background handlers cannot be started")
		}
	})
	ended := make(chan struct{})
	op.replacing.renewals.Go(func() {
		defer close(ended)
		op.runnables.Retire(e.Number)
	})
	timer := time.NewTimer(promptly)
	defer timer.Stop()
	late := false
	select {
	case <-ended:
	case <-timer.C:
		late = true
	}
	e.Hold() // functions of its guests may select resources
	op.streams.Each(func(s *streams.Stream) {
		if s.Born.Load() != e.Number+1 {
			e.Await(s.Dimension)
			s.Again(ctx, e.GateOf(s.Dimension))
		}
	})
	e.Indexed.Done()
	e.Release()
	if <-ended; late {
		op.streams.Each(func(s *streams.Stream) {
			if p := s.Processor.Load(); p != nil && len(p.Handlers.Spawning) > 0 {
				s.Again(ctx, nil)
			}
		})
	}
	working.Wait()
}

package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/panics"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/stoppers"
)

// Activity calls the handlers of one event in the life of an operator until all of them
// are done. Their progress is kept in memory only.
//
// Kopf: kopf._core.engines.activities (v1.45).
type Activity struct {
	Kind     abi.Kind
	Handlers []*registries.Handler
	Settings *settings.Settings
	Services *handling.Services
	Logins   []string // the host's own logins, for login handlers
	Log      zerolog.Logger
}

// Result holds what the handlers of an activity have returned.
type Result struct {
	Results  map[string]any             // by handler id; handlers that returned nothing are left out
	Settings map[string]json.RawMessage // those that startup handlers have changed, by name
}

// Run calls the handlers. If a handler fails for good, all others still run, and Run
// returns the failures as an error.
func (a *Activity) Run(ctx context.Context) (*Result, error) {
	return a.run(ctx, func(s progression.State) error { return backoffs.Pause(ctx, slices.Min(s.Delays(time.Now()))) })
}

// RunOnce is Run with one attempt of each handler. An error of a handler is final.
func (a *Activity) RunOnce(ctx context.Context) (*Result, error) {
	return a.run(ctx, func(s progression.State) error {
		var failed []string
		for _, id := range s.IDs() {
			if h := s.Handler(id); h.Message != nil {
				failed = append(failed, fmt.Sprintf("%s: %s", loggers.Quote(id), *h.Message))
			}
		}
		return fmt.Errorf("handlers of the kind %s need another attempt: %s", a.Kind, strings.Join(failed, "; "))
	})
}

// run calls the handlers, and waits between their attempts.
func (a *Activity) run(ctx context.Context, wait func(progression.State) error) (_ *Result, err error) {
	defer func() {
		if a.Kind == abi.KindStartup {
			err = cmp.Or(err, a.keep(err == nil))
		}
	}()
	current, merged := a.Settings.Clone(), &Result{Results: map[string]any{}, Settings: map[string]json.RawMessage{}}
	c, err := a.cause(current, nil)
	if err != nil {
		return nil, err
	}
	x := &handling.Execution{Settings: current, Lifecycle: progression.AllAtOnce, Errors: handling.ModeTemporary}
	x.Changed = func(changes map[string]abi.Raw) error { // as in Kopf, they hold for the next handlers at once
		values := make(map[string]json.RawMessage, len(changes))
		for name, value := range changes {
			values[name] = json.RawMessage(value)
		}
		maps.Copy(merged.Settings, values)
		_, _ = current.SetByGuest(values, slices.Collect(maps.Keys(values))) // who applies the result reports what is refused
		next, err := a.cause(current, nil)
		if err == nil {
			c.Kind = next.Kind
		}
		return err
	}
	handlers := registries.Deduplicated(a.Handlers)
	state := progression.State{}.WithHandlers(registries.IDs(handlers), time.Now())
	for !state.Done() {
		outcomes, err := attempt(ctx, x, handlers, c, state)
		if err != nil {
			return nil, err
		}
		for id, done := range outcomes {
			if done.Result != nil {
				merged.Results[id] = done.Result
			}
		}
		if state, err = state.WithOutcomes(handling.ForState(outcomes), time.Now()); err != nil {
			return nil, err
		}
		if !state.Done() {
			if err := wait(state); err != nil {
				return nil, err
			}
		}
	}
	return merged, a.failures(state)
}

// keep tells the guests of startup handlers that these have ended.
func (a *Activity) keep(succeeded bool) error {
	var all []error
	for _, h := range a.Handlers {
		all = append(all, guests.Keep(h.Starter, succeeded))
	}
	return errors.Join(all...)
}

// attempt calls the handlers that are due. Nothing applies a patch of them, so what they have returned and what their tasks keep is
// given back at once.
//
// Errors: those of Execution.Run; *panics.Error, which is logged.
func attempt(ctx context.Context, x *handling.Execution, handlers []*registries.Handler, c *handling.Cause, state progression.State) (outcomes map[string]*handling.Outcome, err error) {
	defer func() {
		if stack := panics.StackOf(err); stack != "" {
			c.Log.Failure(err.Error(), stack)
		}
		c.Patch.Release(context.WithoutCancel(ctx), 0)
		c.Patch = patching.New(nil)
	}()
	defer panics.Recover(&err)
	return x.Run(ctx, handlers, c, state)
}

// cause makes the cause with which the handlers of the activity are called. Only
// background handlers have a stopper.
func (a *Activity) cause(present *settings.Settings, s *stoppers.Stopper) (*handling.Cause, error) {
	current, err := present.JSON()
	if err != nil {
		return nil, err
	}
	logger := "kopf.activities"
	if name := activityNames[a.Kind]; name != "" {
		logger += "." + name
	}
	o := &handling.Object{Services: a.Services, Patch: patching.New(nil), Log: loggers.Logger{Logger: &a.Log, Name: logger}}
	return handling.NewCause(o, &handling.Activity{Name: activityNames[a.Kind], Settings: abi.Raw(current), Logins: a.Logins, Stopper: s}), nil
}

// activityNames are the values of the kwarg activity.
var activityNames = map[abi.Kind]string{
	abi.KindStartup: "startup", abi.KindCleanup: "cleanup", abi.KindProbe: "probe", abi.KindLogin: "authentication",
}

func (a *Activity) failures(state progression.State) error {
	var failed []string
	for _, id := range state.IDs() {
		if h := state.Handler(id); h.Failure {
			failed = append(failed, fmt.Sprintf("%s: %s", loggers.Quote(id), *h.Message))
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return fmt.Errorf("handlers of the kind %s have failed: %s", a.Kind, strings.Join(failed, "; "))
}

package reactor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// activity calls the handlers of one event in the life of an operator, until all
// of them are done. Their progress is kept in memory only.
//
// Kopf: kopf._core.engines.activities (v1.45).
type activity struct {
	kind     abi.Kind
	handlers []*Handler
	settings *settings.Settings
	services *services
	logins   []string // of the host; for login handlers
	log      zerolog.Logger
}

// activityResult is what the handlers of an activity have returned.
type activityResult struct {
	results  map[string]any     // by their ids; without those that returned nothing
	settings map[string]abi.Raw // merged
}

// run calls the handlers. Those that have failed for good are an error in the end:
// all the others run nevertheless.
func (a *activity) run(ctx context.Context) (*activityResult, error) {
	c, err := a.cause(nil)
	if err != nil {
		return nil, err
	}
	x := &execution{settings: a.settings, lifecycle: progression.AllAtOnce, errors: modeTemporary}
	handlers := deduplicated(a.handlers)
	state := progression.State{}.WithHandlers(idsOf(handlers), time.Now())
	merged := &activityResult{results: map[string]any{}}
	for !state.Done() {
		outcomes, err := x.run(ctx, handlers, c, state)
		if err != nil {
			return nil, err
		}
		for id, done := range outcomes {
			merged.settings = mergeSettings(merged.settings, done.settings)
			if done.result != nil {
				merged.results[id] = done.result
			}
		}
		if state, err = state.WithOutcomes(forState(outcomes), time.Now()); err != nil {
			return nil, err
		}
		if delays := state.Delays(time.Now()); len(delays) > 0 {
			if err := backoffs.Pause(ctx, slices.Min(delays)); err != nil {
				return nil, err
			}
		}
	}
	return merged, a.failures(state)
}

// cause is what the handlers of the activity are called with. The stopper is for
// background handlers.
func (a *activity) cause(s *stopper) (*cause, error) {
	current, err := a.settings.JSON()
	if err != nil {
		return nil, err
	}
	o := &object{services: a.services, patch: newPatch(nil), log: logger{Logger: &a.log, name: "kopf.activities"}}
	return newCause(o, &activityKind{name: activityNames[a.kind], settings: abi.Raw(current), logins: a.logins, stopper: s}), nil
}

// activityNames are the kwarg activity.
var activityNames = map[abi.Kind]string{
	abi.KindStartup: "startup", abi.KindCleanup: "cleanup", abi.KindProbe: "probe", abi.KindLogin: "authentication",
}

func (a *activity) failures(state progression.State) error {
	var failed []string
	for _, id := range state.IDs() {
		if h := state.Handler(id); h.Failure {
			failed = append(failed, fmt.Sprintf("%s: %s", quote(id), *h.Message))
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return fmt.Errorf("handlers of the kind %s have failed: %s", a.kind, strings.Join(failed, "; "))
}

// wireSettings are changes of settings by their names.
func wireSettings(changes map[string]abi.Raw) map[string]json.RawMessage {
	values := make(map[string]json.RawMessage, len(changes))
	for name, value := range changes {
		values[name] = json.RawMessage(value)
	}
	return values
}

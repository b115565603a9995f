package handling

import (
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/progression"
)

// Outcome is what one attempt of one handler means for the cycle.
//
// Kopf: kopf._core.actions.execution.Outcome (v1.45).
type Outcome struct {
	final    bool
	delay    *time.Duration // until the next attempt; nil: no delay
	Result   any
	Size     int        // of the text of the result, in bytes
	Keyed    bool       // whether the result of an index handler is a list of pairs
	Failed   bool       // whether the attempt ended with an error
	Message  string     // message of the error
	Failure  *abi.Error // the error as the handler returned it
	Warnings []string   // warnings of reviews
	subrefs  []string   // ids of the sub-handlers that were involved, at any depth
	Settings map[string]abi.Raw
}

// ForState returns the part of the outcome that the progress stores.
func (o Outcome) ForState() progression.Outcome {
	out := progression.Outcome{Final: o.final, Delay: o.delay, Result: o.Result, Subrefs: o.subrefs}
	if o.Failed {
		out.Error = &o.Message
	}
	return out
}

// ForState returns the parts of the outcomes that the progress stores.
func ForState(outcomes map[string]*Outcome) map[string]progression.Outcome {
	converted := make(map[string]progression.Outcome, len(outcomes))
	for id, o := range outcomes {
		converted[id] = o.ForState()
	}
	return converted
}

// Record adds the outcomes to the state, and writes both into the patch of the cycle.
func (x *Execution) Record(c *Cause, state progression.State, outcomes map[string]*Outcome) (progression.State, error) {
	return x.record(c, state, outcomes, false)
}

// RecordForPurge is Record for a caller that purges the state if all handlers are done.
func (x *Execution) RecordForPurge(c *Cause, state progression.State, outcomes map[string]*Outcome) (progression.State, error) {
	return x.record(c, state, outcomes, true)
}

func (x *Execution) record(c *Cause, state progression.State, outcomes map[string]*Outcome, purged bool) (progression.State, error) {
	merged := ForState(outcomes)
	state, err := state.WithOutcomes(merged, time.Now())
	if err != nil {
		return state, err
	}
	store := state.Store
	if purged && state.Done() {
		store = state.StoreForPurge
	}
	if err := store(c.Body, &c.Patch.Merge, x.Settings.Persistence.Progress); err != nil {
		return state, err
	}
	return state, progression.DeliverResults(merged, &c.Patch.Merge)
}

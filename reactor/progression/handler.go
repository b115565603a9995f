package progression

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/kopf-wasm/kopf/stores"
)

// Outcome is the result of one attempt of a handler. The zero Outcome is not final: the
// handler must be called again without a delay.
//
// Kopf: kopf._core.actions.execution.Outcome.
type Outcome struct {
	Final   bool           // no further attempt follows
	Delay   *time.Duration // until the next attempt; nil: no delay
	Error   *string        // the message; nil: success, or an ignored error
	Result  any            // the JSON value for the status; nil: no result
	Subrefs []string       // ids of the sub-handlers that this attempt has declared
}

// HandlerState is the progress of one handler with one object. It is immutable: methods
// return new states.
//
// Kopf: kopf._core.actions.progression.HandlerState.
type HandlerState struct {
	// Active means that the handler takes part in the current cycle. The records of other
	// handlers on the object are counted and purged, but not waited for.
	Active bool

	Started time.Time
	Stopped time.Time // zero: not finished
	Delayed time.Time // zero: not delayed
	Purpose string    // the reason for which it is called; empty matches any
	Retries int       // attempts so far
	Success bool
	Failure bool
	Message *string  // the last error
	Subrefs []string // ids of its sub-handlers of all levels, sorted

	stored *stores.Record // the record on the object; nil: none
}

// Finished reports whether the handler is not called again.
func (h HandlerState) Finished() bool { return h.Success || h.Failure }

// Sleeping reports whether the handler waits for the time of its next attempt.
func (h HandlerState) Sleeping(now time.Time) bool {
	return !h.Finished() && h.Delayed.After(now)
}

// Awakened reports whether the handler is due now.
func (h HandlerState) Awakened(now time.Time) bool {
	return !h.Finished() && !h.Sleeping(now)
}

// Runtime returns the time since the first attempt was due.
func (h HandlerState) Runtime(now time.Time) time.Duration { return now.Sub(h.Started) }

// WithOutcome adds an attempt that has ended at now.
func (h HandlerState) WithOutcome(outcome Outcome, now time.Time) HandlerState {
	if outcome.Final && h.Stopped.IsZero() {
		h.Stopped = now
	}
	h.Delayed = time.Time{}
	if outcome.Delay != nil {
		h.Delayed = now.Add(*outcome.Delay)
	}
	h.Success = outcome.Final && outcome.Error == nil
	h.Failure = outcome.Final && outcome.Error != nil
	h.Message = outcome.Error
	h.Retries++
	h.Subrefs = union(h.Subrefs, outcome.Subrefs)
	return h
}

// union merges ids, sorted and without duplicates.
func union(a, b []string) []string {
	merged := slices.Concat(a, b)
	slices.Sort(merged)
	return slices.Compact(merged)
}

// Record returns the state in its stored form.
func (h HandlerState) Record() stores.Record {
	return stores.Record{
		Started: formatTime(h.Started),
		Stopped: formatTime(h.Stopped),
		Delayed: formatTime(h.Delayed),
		Purpose: nonEmpty(h.Purpose),
		Retries: &h.Retries,
		Success: &h.Success,
		Failure: &h.Failure,
		Message: h.Message,
		Subrefs: union(h.Subrefs, nil),
	}
}

// isStored reports whether the object already has an equal record. Nulls on the object
// count as absent fields. Kopf writes such records again in each cycle, and thereby loses
// delays.
func (h HandlerState) isStored() bool {
	return h.stored != nil && reflect.DeepEqual(*h.stored, h.Record())
}

func newHandler(purpose string, now time.Time) HandlerState {
	return HandlerState{Active: true, Started: now, Purpose: purpose}
}

// restoreHandler makes a state from its record. Absent fields have defaults, so that
// records of other versions can be read.
func restoreHandler(record *stores.Record, now time.Time) (HandlerState, error) {
	started, err1 := parseTime("started", record.Started)
	stopped, err2 := parseTime("stopped", record.Stopped)
	delayed, err3 := parseTime("delayed", record.Delayed)
	if err := errors.Join(err1, err2, err3); err != nil {
		return HandlerState{}, err
	}
	if started.IsZero() {
		started = now
	}
	return HandlerState{
		Started: started,
		Stopped: stopped,
		Delayed: delayed,
		Purpose: valueOf(record.Purpose),
		Retries: valueOf(record.Retries),
		Success: valueOf(record.Success),
		Failure: valueOf(record.Failure),
		Message: record.Message,
		Subrefs: record.Subrefs,
		stored:  record,
	}, nil
}

func parseTime(field string, text *string) (time.Time, error) {
	if text == nil {
		return time.Time{}, nil
	}
	t, _, err := stores.ParseTime(*text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s: %w", field, err)
	}
	return t, nil
}

func formatTime(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := stores.FormatTime(t)
	return &text
}

func nonEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// valueOf returns the value of a field, or zero for an absent field.
func valueOf[T any](field *T) (value T) {
	if field != nil {
		value = *field
	}
	return value
}

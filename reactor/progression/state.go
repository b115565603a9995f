// Package progression follows handlers over the attempts that an object needs:
// which of them are finished, which are to be called now, and which later. It
// only computes; the moment is always given by the caller.
//
// Kopf: kopf._core.actions.progression, kopf._core.actions.lifecycles.
package progression

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kopf-wasm/kopf/stores"
)

// State is the progress of all handlers concerned with one object. It is
// immutable: each method that changes something gives a new State.
// The zero State has no handlers.
//
// Kopf: kopf._core.actions.progression.State.
type State struct {
	purpose  string
	ids      []string // in the order in which the handlers were added
	handlers map[string]HandlerState
}

// FromStorage reads the records of those handlers that have one. They are
// passive until WithHandlers takes them in.
func FromStorage(body stores.Object, storage stores.ProgressStorage, ids []string, now time.Time) (State, error) {
	s := State{}.clone()
	for _, id := range ids {
		record, err := storage.Fetch(body, id)
		if err != nil {
			return State{}, fmt.Errorf("progress of the handler %q: %w", id, err)
		}
		if record == nil {
			continue
		}
		handler, err := restoreHandler(record, now)
		if err != nil {
			return State{}, fmt.Errorf("progress of the handler %q: %w", id, err)
		}
		s.set(id, handler)
	}
	return s, nil
}

// clone makes a State that can be changed before it is given away.
func (s State) clone() State {
	s.ids = slices.Clone(s.ids)
	s.handlers = maps.Clone(s.handlers)
	if s.handlers == nil {
		s.handlers = map[string]HandlerState{}
	}
	return s
}

// set adds or replaces a handler. Only clones may be changed.
func (s *State) set(id string, handler HandlerState) {
	if _, ok := s.handlers[id]; !ok {
		s.ids = append(s.ids, id)
	}
	s.handlers[id] = handler
}

// WithPurpose sets what the current cycle is for, such as "create". Handlers
// keep their own purposes, except for those given here, which take on the new one.
func (s State) WithPurpose(purpose string, ids ...string) State {
	s = s.clone()
	s.purpose = purpose
	for _, id := range ids {
		if handler, ok := s.handlers[id]; ok {
			handler.Purpose = purpose
			s.set(id, handler)
		}
	}
	return s
}

// WithHandlers makes the handlers active. Those without a record start now.
func (s State) WithHandlers(ids []string, now time.Time) State {
	s = s.clone()
	for _, id := range ids {
		handler, ok := s.handlers[id]
		if !ok {
			handler = newHandler(s.purpose, now)
		}
		handler.Active = true
		s.set(id, handler)
	}
	return s
}

// WithOutcomes adds the attempts that have ended now.
// Outcomes of handlers that are not in the state are an error.
func (s State) WithOutcomes(outcomes map[string]Outcome, now time.Time) (State, error) {
	s = s.clone()
	known := 0
	for _, id := range s.ids {
		if outcome, ok := outcomes[id]; ok {
			s.set(id, s.handlers[id].WithOutcome(outcome, now))
			known++
		}
	}
	if known != len(outcomes) {
		return State{}, fmt.Errorf("%d of the outcomes are of handlers that were not to be called", len(outcomes)-known)
	}
	return s, nil
}

// WithoutSuccesses drops the handlers that have succeeded, the purpose, and messages.
func (s State) WithoutSuccesses() State {
	rest := State{}.clone()
	for _, id := range s.ids {
		if handler := s.handlers[id]; !handler.Success {
			handler.Message = nil // for objects only, and may be long
			rest.set(id, handler)
		}
	}
	return rest
}

// IDs lists the handlers, active or not.
func (s State) IDs() []string { return slices.Clone(s.ids) }

// Handler gives the state of one handler, or the zero HandlerState if the
// handler is not in the state.
func (s State) Handler(id string) HandlerState { return s.handlers[id] }

// Store writes the records that differ from what is on the object.
func (s State) Store(body stores.Object, patch *stores.Patch, storage stores.ProgressStorage) error {
	for _, id := range s.ids {
		handler := s.handlers[id]
		if handler.isStored() {
			continue
		}
		if err := storage.Store(id, handler.Record(), body, patch); err != nil {
			return fmt.Errorf("storing the progress of the handler %q: %w", id, err)
		}
	}
	return storage.Flush()
}

// Purge deletes the records of the given handlers, of all those in the state,
// and of their sub-handlers. Records of anybody else stay.
func (s State) Purge(body stores.Object, patch *stores.Patch, storage stores.ProgressStorage, ids []string) error {
	all := slices.Clone(ids)
	for _, id := range s.ids {
		all = append(all, id)
		all = append(all, s.handlers[id].Subrefs...)
	}
	purged := make(map[string]bool, len(all))
	var errs []error
	for _, id := range all {
		if purged[id] {
			continue
		}
		purged[id] = true
		if err := storage.Purge(id, body, patch); err != nil {
			errs = append(errs, fmt.Errorf("purging the progress of the handler %q: %w", id, err))
		}
	}
	return errors.Join(append(errs, storage.Flush())...)
}

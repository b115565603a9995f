// Package progression tracks handlers over the attempts that an object needs: which are
// finished, which are due, and which are delayed. It is pure; the caller passes the
// current time.
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

// State is the progress of all handlers of one object. It is immutable: methods return new
// States. The zero State has no handlers.
//
// Kopf: kopf._core.actions.progression.State.
type State struct {
	purpose  string
	ids      []string // in the order in which the handlers were added
	handlers map[string]HandlerState
}

// FromStorage reads the records of the given handlers. They are passive until WithHandlers
// activates them.
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

// clone returns a copy that set may change.
func (s State) clone() State {
	s.ids = slices.Clone(s.ids)
	s.handlers = maps.Clone(s.handlers)
	if s.handlers == nil {
		s.handlers = map[string]HandlerState{}
	}
	return s
}

// set adds or replaces a handler. Call it only on clones.
func (s *State) set(id string, handler HandlerState) {
	if _, ok := s.handlers[id]; !ok {
		s.ids = append(s.ids, id)
	}
	s.handlers[id] = handler
}

// WithPurpose sets the purpose of the current cycle, such as "create". Only the given
// handlers adopt it; others keep their own.
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

// WithHandlers activates the handlers. Those without a record start at now.
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

// WithOutcomes adds attempts that have ended at now. An outcome of an unknown handler is
// an error.
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
		return State{}, fmt.Errorf("%d outcomes belong to handlers that were not due", len(outcomes)-known)
	}
	return s, nil
}

// WithoutSuccesses removes the handlers that have succeeded, the purpose, and messages.
func (s State) WithoutSuccesses() State {
	rest := State{}.clone()
	for _, id := range s.ids {
		if handler := s.handlers[id]; !handler.Success {
			handler.Message = nil // messages are for objects only, and may be long
			rest.set(id, handler)
		}
	}
	return rest
}

// IDs returns the handlers, active or not.
func (s State) IDs() []string { return slices.Clone(s.ids) }

// Handler returns the state of one handler; the zero HandlerState if it is unknown.
func (s State) Handler(id string) HandlerState { return s.handlers[id] }

// Store writes the records that differ from those on the object.
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

// StoreForPurge is Store for a state that Purge deletes from the same patch.
func (s State) StoreForPurge(body stores.Object, patch *stores.Patch, storage stores.ProgressStorage) error {
	for _, id := range s.ids {
		handler := s.handlers[id]
		if handler.isStored() {
			continue
		}
		if err := stores.StoreForPurge(storage, id, handler.Record, body, patch); err != nil {
			return fmt.Errorf("storing the progress of the handler %q: %w", id, err)
		}
	}
	return storage.Flush()
}

// Purge deletes the records of the given handlers, of all handlers in the state, and of
// their sub-handlers. Other records stay.
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

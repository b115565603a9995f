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
	purpose string
	ids     []string       // in the order in which the handlers were added
	states  []HandlerState // of the ids
	index   map[string]int // positions of the ids, if there are many
}

// few is the number of handlers that are searched one by one. Most objects have no more.
const few = 8

// find returns the position of a handler; -1 if it is unknown.
func (s State) find(id string) int {
	if s.index == nil {
		return slices.Index(s.ids, id)
	}
	if at, ok := s.index[id]; ok {
		return at
	}
	return -1
}

// FromStorage reads the records of the given handlers. They are passive until WithHandlers
// activates them.
func FromStorage(body stores.Object, storage stores.ProgressStorage, ids []string, now time.Time) (State, error) {
	var s State
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

// clone returns a copy that set may change, with room for more handlers.
func (s State) clone(room int) State {
	s.ids = append(make([]string, 0, len(s.ids)+room), s.ids...)
	s.states = append(make([]HandlerState, 0, len(s.states)+room), s.states...)
	s.index = maps.Clone(s.index)
	return s
}

// set adds or replaces a handler. Call it only on clones and new States.
func (s *State) set(id string, handler HandlerState) {
	if at := s.find(id); at >= 0 {
		s.states[at] = handler
		return
	}
	s.ids, s.states = append(s.ids, id), append(s.states, handler)
	switch {
	case s.index != nil:
		s.index[id] = len(s.ids) - 1
	case len(s.ids) > few:
		s.index = make(map[string]int, 2*few)
		for at, known := range s.ids {
			s.index[known] = at
		}
	}
}

// WithPurpose sets the purpose of the current cycle, such as "create". Only the given
// handlers adopt it; others keep their own.
func (s State) WithPurpose(purpose string, ids ...string) State {
	s.purpose = purpose
	if len(ids) == 0 {
		return s
	}
	s = s.clone(0)
	for _, id := range ids {
		if at := s.find(id); at >= 0 {
			s.states[at].Purpose = purpose
		}
	}
	return s
}

// WithHandlers activates the handlers. Those without a record start at now.
func (s State) WithHandlers(ids []string, now time.Time) State {
	s = s.clone(len(ids))
	for _, id := range ids {
		handler := newHandler(s.purpose, now)
		if at := s.find(id); at >= 0 {
			handler = s.states[at]
		}
		handler.Active = true
		s.set(id, handler)
	}
	return s
}

// WithOutcomes adds attempts that have ended at now. An outcome of an unknown handler is
// an error.
func (s State) WithOutcomes(outcomes map[string]Outcome, now time.Time) (State, error) {
	s = s.clone(0)
	known := 0
	for at, id := range s.ids {
		if outcome, ok := outcomes[id]; ok {
			s.states[at] = s.states[at].WithOutcome(outcome, now)
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
	var rest State
	for at, id := range s.ids {
		if handler := s.states[at]; !handler.Success {
			handler.Message = nil // messages are for objects only, and may be long
			rest.set(id, handler)
		}
	}
	return rest
}

// IDs returns the handlers, active or not.
func (s State) IDs() []string { return slices.Clone(s.ids) }

// Handler returns the state of one handler; the zero HandlerState if it is unknown.
func (s State) Handler(id string) HandlerState {
	if at := s.find(id); at >= 0 {
		return s.states[at]
	}
	return HandlerState{}
}

// Store writes the records that differ from those on the object.
func (s State) Store(body stores.Object, patch *stores.Patch, storage stores.ProgressStorage) error {
	return s.store(storage, func(id string, h HandlerState) error { return storage.Store(id, h.Record(), body, patch) })
}

// StoreForPurge is Store for a state that Purge deletes from the same patch.
func (s State) StoreForPurge(body stores.Object, patch *stores.Patch, storage stores.ProgressStorage) error {
	return s.store(storage, func(id string, h HandlerState) error { return stores.StoreForPurge(storage, id, h.Record, body, patch) })
}

func (s State) store(storage stores.ProgressStorage, one func(id string, h HandlerState) error) error {
	for at, id := range s.ids {
		if handler := s.states[at]; !handler.isStored() {
			if err := one(id, handler); err != nil {
				return fmt.Errorf("storing the progress of the handler %q: %w", id, err)
			}
		}
	}
	return storage.Flush()
}

// Purge deletes the records of the given handlers, of all handlers in the state, and of
// their sub-handlers. Other records stay.
func (s State) Purge(body stores.Object, patch *stores.Patch, storage stores.ProgressStorage, ids []string) error {
	all := slices.Clone(ids)
	for at, id := range s.ids {
		all = append(all, id)
		all = append(all, s.states[at].Subrefs...)
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

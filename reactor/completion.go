package reactor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// completionInterval is how often it is looked whether all is done.
const completionInterval = 50 * time.Millisecond

// errCompleted ends an operator that is to run once.
var errCompleted = errors.New("all is handled")

// completion is what an operator that runs once has still to do: the objects of the
// initial listings that have not come to rest, with no handlers left to be called.
// Nil does not count anything.
type completion struct {
	mu      sync.Mutex // guards all below
	open    map[string]bool
	begun   bool // the first streams have been started
	failed  int  // handlers, for good
	handled int  // objects
}

func newCompletion(once bool) *completion {
	if !once {
		return nil
	}
	return &completion{open: map[string]bool{}}
}

// begin says that the streams are known. Before that, there is nothing to wait for.
func (s *completion) begin() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
}

// add is called for each listed object.
func (s *completion) add(key string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[key] = true
}

// done says that nothing is left to do for an object until it changes.
func (s *completion) done(key string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[key] {
		delete(s.open, key)
		s.handled++
	}
}

// fail counts a handler that has failed for good.
func (s *completion) fail() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed++
}

// state tells whether there is nothing to wait for, and what came out.
func (s *completion) state() (settled bool, handled, failed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun && len(s.open) == 0, s.handled, s.failed
}

// ErrHandlersFailed says that an operator that ran once has left failures.
var ErrHandlersFailed = errors.New("handlers have failed")

// untilCompleted ends an operator that runs once when all streams have listed what
// there is, and all of that is handled.
func (op *Operator) untilCompleted(ctx context.Context) error {
	if op.completion == nil {
		return nil
	}
	ticker := time.NewTicker(completionInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		listed := true // looked at first: what is listed is waited for by then
		for _, s := range op.Streams() {
			listed = listed && s.Synced
		}
		settled, handled, failed := op.completion.state()
		if !listed || !settled {
			continue
		}
		op.Log.Info().Str(LoggerField, "kopf.reactor").Msg(fmt.Sprintf("All is handled: %d objects.", handled))
		if failed > 0 {
			return fmt.Errorf("%w: %d", ErrHandlersFailed, failed)
		}
		return errCompleted
	}
}

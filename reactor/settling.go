package reactor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// settlingPause is how often it is looked whether all is done.
const settlingPause = 50 * time.Millisecond

// errSettled ends an operator that is to run once.
var errSettled = errors.New("all is handled")

// settling is what an operator that runs once has still to do: the objects of the
// initial listings that have not come to rest, with no handlers left to be called.
// Nil does not count anything.
type settling struct {
	mu      sync.Mutex // guards all below
	open    map[string]bool
	begun   bool // the first streams have been started
	failed  int  // handlers, for good
	handled int  // objects
}

func newSettling(once bool) *settling {
	if !once {
		return nil
	}
	return &settling{open: map[string]bool{}}
}

// begin says that the streams are known. Before that, there is nothing to wait for.
func (s *settling) begin() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
}

// add is called for each listed object.
func (s *settling) add(key string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[key] = true
}

// done says that nothing is left to do for an object until it changes.
func (s *settling) done(key string) {
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
func (s *settling) fail() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed++
}

// state tells whether there is nothing to wait for, and what came out.
func (s *settling) state() (settled bool, handled, failed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun && len(s.open) == 0, s.handled, s.failed
}

// ErrHandlersFailed says that an operator that ran once has left failures.
var ErrHandlersFailed = errors.New("handlers have failed")

// untilSettled ends an operator that runs once when all streams have listed what
// there is, and all of that is handled.
func (op *Operator) untilSettled(ctx context.Context) error {
	if op.settling == nil {
		return nil
	}
	ticker := time.NewTicker(settlingPause)
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
		settled, handled, failed := op.settling.state()
		if !listed || !settled {
			continue
		}
		op.Log.Info().Str(LoggerField, "kopf.reactor").Msg(fmt.Sprintf("All is handled: %d objects.", handled))
		if failed > 0 {
			return fmt.Errorf("%w: %d", ErrHandlersFailed, failed)
		}
		return errSettled
	}
}

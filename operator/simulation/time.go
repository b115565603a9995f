// Package simulation runs operators on a simulated clock and on a cluster in memory, in a
// fraction of the time that they wait for.
//
// The clock is that of testing/synctest: in a bubble of goroutines, time moves on only while
// all of them wait. The reactor needs no change for that.
package simulation

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var (
	// ErrLimit says that a simulation took more real time than its limit. Its goroutines
	// continue, so the process should end.
	ErrLimit = errors.New("the time limit is over")

	// ErrLeft says that goroutines of a simulation wait for something that can never happen.
	ErrLeft = errors.New("the simulation cannot continue: all its goroutines wait for each other")
)

// beat is how often the real time is read.
const beat = 10 * time.Millisecond

// Time is the time of a simulation.
type Time struct {
	real atomic.Int64 // the real time, in nanoseconds since the epoch
}

// Real returns the real time, with a resolution of 10 ms: time.Now is the simulated time.
func (t *Time) Real() time.Time { return time.Unix(0, t.real.Load()) }

// Settle waits until no goroutine of the simulation can continue without waiting for the
// clock. The clock does not move.
func (*Time) Settle() { synctest.Wait() }

// Run runs work on a clock that begins at the given time, which must be after the year 2000.
// It returns when the work and all its goroutines have ended.
//
// Errors: ErrLimit after the limit of real time, ErrLeft.
func Run(begin time.Time, limit time.Duration, work func(t *Time)) error {
	t, over := &Time{}, make(chan struct{})
	defer close(over)
	t.real.Store(time.Now().UnixNano())
	go t.tick(over) // It ends with this function.
	done := make(chan error, 1)
	go func() { done <- inBubble(begin, t, work) }() // Waited for below, unless it exceeds the limit.
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return fmt.Errorf("%w: %v of real time", ErrLimit, limit)
	}
}

func (t *Time) tick(over <-chan struct{}) {
	ticks := time.NewTicker(beat)
	defer ticks.Stop()
	for {
		select {
		case now := <-ticks.C:
			t.real.Store(now.UnixNano())
		case <-over:
			return
		}
	}
}

// inBubble runs work in a bubble. The test is empty: nothing in the work fails it, and
// synctest needs no more of it than its existence.
//
// See RATIONALE.md, "Why does kopf test run in a bubble of synctest?".
func inBubble(begin time.Time, t *Time, work func(*Time)) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("%w: %v", ErrLeft, reason)
		}
	}()
	synctest.Test(&testing.T{}, func(*testing.T) {
		time.Sleep(time.Until(begin))
		work(t)
	})
	return nil
}

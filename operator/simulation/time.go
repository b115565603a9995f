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

	// ErrEnd says that the clock has reached End, as everything waits for centuries or for ever. Some goroutines may continue, as
	// with ErrLimit.
	ErrEnd = errors.New("the simulated clock has reached the year 2200, as everything waits for centuries or for ever")

	// ErrLeft says that goroutines that the work has left behind wait for something that can never happen.
	ErrLeft = errors.New("the simulation cannot continue: all its goroutines wait for each other")
)

// End is where the clock of a simulation ends. The clocks of Go, in nanoseconds, end in 2262: there, sleeps of a bubble crash the
// process.
var End = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant

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

// Run runs work on a clock that begins at the given time, which must be after the year 2000 and before End.
// It returns when the work and all its goroutines have ended.
//
// Errors: ErrLimit after the limit of real time, ErrEnd, ErrLeft.
func Run(begin time.Time, limit time.Duration, work func(t *Time)) error {
	t, over, late := &Time{}, make(chan struct{}), make(chan struct{}, 1)
	defer close(over)
	t.real.Store(time.Now().UnixNano())
	go t.tick(over) // It ends with this function.
	done := make(chan error, 1)
	go func() { done <- inBubble(begin, t, late, work) }() // Waited for below, unless it exceeds the limit.
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-late:
		return ErrEnd
	case <-timer.C:
		return fmt.Errorf("%w: %v of real time", ErrLimit, limit)
	}
}

var never = make(chan struct{}) //nolint:gochecknoglobals // it is never closed

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
func inBubble(begin time.Time, t *Time, late chan<- struct{}, work func(*Time)) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("%w: %v", ErrLeft, reason)
		}
	}()
	synctest.Test(&testing.T{}, func(*testing.T) {
		time.Sleep(time.Until(begin))
		end := time.AfterFunc(time.Until(End), func() {
			late <- struct{}{}
			<-never // of no bubble, so the clock does not move on
		})
		defer end.Stop()
		work(t)
	})
	return nil
}

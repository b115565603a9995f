package simulation

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

func TestWaitsTakeNoTime(t *testing.T) {
	begin := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	var end time.Time
	err := Run(begin, time.Minute, func(*Time) {
		time.Sleep(1000 * time.Hour)
		end = time.Now().UTC()
	})
	if want := begin.Add(1000 * time.Hour); err != nil || !end.Equal(want) {
		t.Errorf("the end is %v, want %v; error %v", end, want, err)
	}
}

func TestRealTimeMovesOn(t *testing.T) {
	err := Run(time.Now(), time.Minute, func(s *Time) {
		for began := s.Real(); !s.Real().After(began); {
		}
	})
	if err != nil {
		t.Error(err)
	}
}

func TestSimulationsThatNeverEnd(t *testing.T) {
	var stop atomic.Bool
	defer stop.Store(true)
	if err := Run(time.Now(), time.Millisecond, func(*Time) {
		for !stop.Load() {
		}
	}); !errors.Is(err, ErrLimit) {
		t.Errorf("error = %v", err)
	}
	if err := Run(time.Now(), time.Minute, func(*Time) { go func() { <-make(chan struct{}) }() }); !errors.Is(err, ErrLeft) {
		t.Errorf("error = %v", err)
	}
}

// TestTheClockEnds: whatever waits for centuries ends the simulation, and not the process.
func TestTheClockEnds(t *testing.T) {
	for _, work := range []func(){
		func() { time.Sleep(100_000 * 24 * time.Hour); time.Sleep(time.Hour) },
		func() {
			for range 1000 {
				time.Sleep(365 * 24 * time.Hour)
			}
		},
		func() { time.Sleep(1<<63 - 1); time.Sleep(1<<63 - 1) },
		func() { <-make(chan struct{}) },
	} {
		err := Run(time.Now(), time.Minute, func(*Time) { work() })
		if !errors.Is(err, ErrEnd) {
			t.Errorf("error = %v", err)
		}
	}
}

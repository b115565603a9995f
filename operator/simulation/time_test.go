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
	if err := Run(time.Now(), time.Minute, func(*Time) { <-make(chan struct{}) }); !errors.Is(err, ErrLeft) {
		t.Errorf("error = %v", err)
	}
	if err := Run(time.Now(), time.Minute, func(*Time) { go func() { <-make(chan struct{}) }() }); !errors.Is(err, ErrLeft) {
		t.Errorf("error = %v", err)
	}
}

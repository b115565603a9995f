package operator

import (
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/reactor"
)

// Memory is given back soon after a start, and when much was allocated and the process is idle again, not too often.
func TestTrimming(t *testing.T) {
	const more = trimQuiet // what a process with work allocates at least between two looks
	steps := []struct {
		name      string
		after     time.Duration
		started   bool
		allocated uint64
		due       bool
	}{
		{"a start leaves what loading took", trimLook, true, 5 * more, true},
		{"its listings", trimLook, false, 10 * more, false},
		{"continue", trimPauseStarted, false, 20 * more, false},
		{"and are over", trimLook, false, 20 * more, true},
		{"a later one", trimLook, false, 30 * more, false},
		{"is over soon", trimLook, false, 30 * more, false},
		{"is waited for", trimPauseStarted, false, 30 * more, true},
		{"another start", trimLook, true, 40 * more, false},
		{"is soon after", trimPauseStarted, false, 50 * more, true},
		{"its listings", trimLook, false, 60 * more, false},
		{"on a busy machine leave much", trimPauseStarted, false, 50*more + trimMuchStarted, true},
		{"and more", trimPauseStarted, false, 60*more + trimMuchStarted, false},
		{"until they are over", trimLook, false, 60*more + trimMuchStarted, true},
		{"a few events", time.Hour, false, 100*more + trimMuchStarted, false},
		{"are too few", trimLook, false, 100*more + trimMuchStarted, false},
		{"a few more", trimLook, false, 130*more + trimMuchStarted, false},
		{"are enough", trimLook, false, 130*more + trimMuchStarted, true},
		{"another burst", trimLook, false, 200*more + trimMuchStarted, false},
		{"soon after", trimLook, false, 200*more + trimMuchStarted, false},
		{"is waited for", trimPause, false, 200*more + trimMuchStarted, true},
	}
	now, decided := time.Unix(1_800_000_000, 0), trimming{}
	for i, step := range steps {
		if now = now.Add(step.after); step.started {
			decided.started(now)
		}
		if due := decided.due(now, step.allocated); due != step.due {
			t.Errorf("%d, %s: due = %t", i, step.name, due)
		}
	}
}

// A trim of a large heap is followed by a long pause, also if operators start all the time.
func TestTrimsRest(t *testing.T) {
	now, decided := time.Unix(1_800_000_000, 0), trimming{}
	for _, step := range []struct {
		after     time.Duration
		allocated uint64
		due       bool
	}{
		{0, trimQuiet, true},
		{trimPauseStarted, 2 * trimQuiet, false},
		{2 * trimPauseStarted, 3 * trimQuiet, false},
		{time.Minute, 4 * trimQuiet, true},
		{trimPauseStarted, 8 * trimQuiet, false},
		{2 * trimPauseStarted, 8 * trimQuiet, true}, // it has become quiet
	} {
		now = now.Add(step.after)
		decided.started(now)
		if due := decided.due(now, step.allocated); due != step.due {
			t.Errorf("after %v: due = %t", step.after, due)
		}
		decided.took = time.Second
	}
}

// Operators that end before the first look are not kept.
func TestTrimmingKeepsNoEndedOperators(t *testing.T) {
	var all trimmer
	for range 3 {
		op := &Operator{reactor: &reactor.Operator{}}
		all.add(op)
		all.remove(op)
	}
	if all.fresh != nil {
		t.Error("one is kept")
	}
}

package operator

import (
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/reactor"
)

// Memory is given back when many events have been handled and no more come, and not too often.
func TestTrimming(t *testing.T) {
	steps := []struct {
		name    string
		after   time.Duration
		handled uint64
		due     bool
	}{
		{"nothing has happened", trimIdle, 0, false},
		{"a listing", trimIdle, 900, false},
		{"which continues", trimIdle, 10_000, false},
		{"and is over", trimIdle, 10_000, true},
		{"nothing more", time.Hour, 10_000, false},
		{"a few", trimIdle, 10_500, false},
		{"are too few", trimIdle, 10_500, false},
		{"a few more", trimIdle, 11_000, false},
		{"are enough", trimIdle, 11_000, true},
		{"another burst", trimIdle, 20_000, false},
		{"soon after", trimIdle, 20_000, false},
		{"is waited for", trimPause, 20_000, true},
	}
	now, decided := time.Unix(1_800_000_000, 0), trimming{}
	for _, step := range steps {
		now = now.Add(step.after)
		if due := decided.due(now, step.handled); due != step.due {
			t.Errorf("%s: due = %t", step.name, due)
		}
	}
}

// Memory is returned when the listings after a start are over, and later once more, whatever
// starts in between.
func TestTrimmingAfterStarts(t *testing.T) {
	now, decided := time.Unix(1_800_000_000, 0), trimming{}
	for _, step := range []struct {
		name    string
		after   time.Duration
		started bool
		settled bool
	}{
		{"nothing has started", trimStart, false, false},
		{"a start", trimIdle, true, false},
		{"another one", trimStart - trimIdle, true, false},
		{"its listings", trimStart - trimIdle, false, false},
		{"are over", trimIdle, false, true},
		{"those of a busy machine", trimIdle, false, false},
		{"take longer", trimPause, false, true},
		{"nothing more", time.Hour, false, false},
	} {
		now = now.Add(step.after)
		if step.started {
			decided.started(now)
		}
		if settled := decided.settled(now); settled != step.settled {
			t.Errorf("%s: settled = %t", step.name, settled)
		}
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
	if len(all.fresh) > 0 {
		t.Errorf("%d are kept", len(all.fresh))
	}
}

package leadership

import (
	"fmt"
	"time"
)

// DefaultDuration is the default of Terms.Duration, as in client-go.
const DefaultDuration = 15 * time.Second

// minDuration is the shortest Terms.Duration. The API stores whole seconds.
const minDuration = 2 * time.Second

// Terms are the times of an election.
type Terms struct {
	Duration time.Duration // how long other replicas wait for a leader of which they see nothing new
	Renewal  time.Duration // how long a leader acts after the begin of its last successful renewal
	Retry    time.Duration // between two renewals
	Look     time.Duration // between two looks of a replica that is not the leader
}

// TermsOf returns the terms with a duration, which is rounded up to whole seconds. The others have the proportions
// of client-go: the difference between Duration and Renewal covers clocks that differ in speed, and
// requests that are under way.
//
// Errors: the duration is shorter than 2 seconds.
func TermsOf(duration time.Duration) (Terms, error) {
	if duration < minDuration {
		return Terms{}, fmt.Errorf("a lease lasts at least %v, not %v", minDuration, duration)
	}
	duration = (duration + time.Second - 1).Truncate(time.Second)
	return Terms{Duration: duration, Renewal: duration * 2 / 3, Retry: duration * 2 / 15, Look: duration / 30}, nil
}

// Margin is how long what a lost leader has begun may still run.
func (t Terms) Margin() time.Duration { return (t.Duration - t.Renewal) / 2 }

// elapsed is the time since a moment of this process. Neither a system that slept, for which the
// monotonic clock stands still, nor a wall clock that was set back makes it too short.
func elapsed(since time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}
